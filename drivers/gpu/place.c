/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/gpu/place.h"

#include "core/base/paths.h"
#include "core/config/config.h"
#include "drivers/cores/cores.h"
#include "drivers/hugepage/hugepage.h"

#include <glob.h>
#include <string.h>

#define DEVICES "/sys/bus/pci/devices"

/* Returns whether a PCI device computes: a display controller or a processing accelerator (classes 03 and 12
 * of the PCI Code and ID Assignment Specification) of a maker with an OpenCL driver. A server's management
 * controller has a display controller, too. */
static bool is_gpu(const char *root, const char *device)
{
	static const char *const makers[] = { "0x10de", "0x1002", "0x8086" }; /* NVIDIA, AMD, Intel */
	char path[PATH_BYTES], class[16], maker[16];

	(void)snprintf(path, sizeof(path), "%s/class", device);
	if (!cores_line(root, path, class, sizeof(class)) ||
	    (strncmp(class, "0x03", 4) != 0 && strncmp(class, "0x12", 4) != 0))
		return false;
	(void)snprintf(path, sizeof(path), "%s/vendor", device);
	for (size_t i = 0;
	     cores_line(root, path, maker, sizeof(maker)) && i < sizeof(makers) / sizeof(makers[0]); i++)
		if (strcmp(maker, makers[i]) == 0)
			return true;
	return false;
}

bool gpu_place(const char *root, const struct gpu_wish *wish, cpu_set_t *ret_cores)
{
	char path[PATH_BYTES], pci[GPU_PCI_BYTES];
	glob_t found = { 0 };
	bool any = false, same = true;

	if (wish->type == DEVICE_CPU)
		return false;
	if (gpu_is_pci(wish->id, pci)) {
		(void)snprintf(path, sizeof(path), DEVICES "/%s", pci);
		return cores_near(root, path, ret_cores);
	}
	(void)snprintf(path, sizeof(path), "%s" DEVICES "/*", root);
	if (glob(path, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && same; i++) {
			const char *device = found.gl_pathv[i] + strlen(root);
			cpu_set_t near;

			if (!is_gpu(root, device))
				continue;
			same = cores_near(root, device, &near) && (!any || CPU_EQUAL(&near, ret_cores));
			*ret_cores = near;
			any = true;
		}
	globfree(&found);
	return any && same;
}

static int first_core(const cpu_set_t *set)
{
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, set))
			return (int)cpu;
	return 0;
}

int gpu_ring_node(const char *root, const struct gpu_wish *wish, const cpu_set_t *network)
{
	cpu_set_t near;

	return hugepage_node_of_core(root, first_core(gpu_place(root, wish, &near) ? &near : network));
}

void gpu_link(const char *root, const char *pci, struct gpu_link *ret_link)
{
	char node[16] = "-1";
	const struct {
		const char *file;
		char *out;
		size_t size;
	} lines[] = {
		{ "current_link_speed", ret_link->speed, sizeof(ret_link->speed) },
		{ "max_link_speed", ret_link->speed_max, sizeof(ret_link->speed_max) },
		{ "current_link_width", ret_link->width, sizeof(ret_link->width) },
		{ "max_link_width", ret_link->width_max, sizeof(ret_link->width_max) },
		{ "numa_node", node, sizeof(node) },
	};
	char path[PATH_BYTES];

	*ret_link = (struct gpu_link){ .node = -1 };
	for (size_t i = 0; *pci && i < sizeof(lines) / sizeof(lines[0]); i++) {
		(void)snprintf(path, sizeof(path), DEVICES "/%s/%s", pci, lines[i].file);
		(void)cores_line(root, path, lines[i].out, lines[i].size);
	}
	ret_link->node = (int)strtol(node, NULL, 10);
}
