/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/nic/nic.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define PATH_MAX_BYTES 512

/* Reads the first line of a small file. Returns false where the file cannot be read. */
static bool read_line(const char *root, const char *path, char *out, size_t size)
{
	CLEANUP(close_file) FILE *file = NULL;
	char full[PATH_MAX_BYTES];

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "re");
	if (!file || !fgets(out, (int)size, file))
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Parses a decimal number. Checks the first character, because strtoul() accepts signs and spaces. */
static bool parse_core(const char **text, unsigned long *ret_core)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*ret_core = strtoul(*text, &end, 10);
	*text = end;
	return *ret_core < CPU_SETSIZE;
}

/* Parses a list of cores such as "0-3,8" (cpuset(7), "List format"). */
static bool parse_cores(const char *text, cpu_set_t *ret_set)
{
	CPU_ZERO(ret_set);
	for (;;) {
		unsigned long first, last;

		if (!parse_core(&text, &first))
			return false;
		last = first;
		if (*text == '-' && (text++, !parse_core(&text, &last)))
			return false;
		if (first > last)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, ret_set);
		if (*text != ',')
			return *text == '\0';
		text++;
	}
}

/* Finds the interface of the default route: the line of /proc/net/route (proc(5)) whose Destination is 0. */
static bool default_route(const char *root, char nic[static NIC_NAME_BYTES])
{
	CLEANUP(close_file) FILE *file = NULL;
	char path[PATH_MAX_BYTES], line[512];

	(void)snprintf(path, sizeof(path), "%s/proc/net/route", root);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char name[NIC_NAME_BYTES], destination[16];

		if (sscanf(line, "%63s %15s", name, destination) == 2 &&
		    strcmp(destination, "00000000") == 0) {
			memcpy(nic, name, NIC_NAME_BYTES);
			return true;
		}
	}
	return false;
}

/* Reads from sysfs which cores are near a device, or else the cores of the device's memory node
 * (Documentation/ABI/testing/sysfs-bus-pci; node -1 = none). */
static bool device_cores(const char *root, const char *device, cpu_set_t *ret_set)
{
	char path[PATH_MAX_BYTES], text[1024];
	long node;

	(void)snprintf(path, sizeof(path), "%s/local_cpulist", device);
	if (read_line(root, path, text, sizeof(text)) && parse_cores(text, ret_set))
		return true;
	(void)snprintf(path, sizeof(path), "%s/numa_node", device);
	if (!read_line(root, path, text, sizeof(text)) || (node = strtol(text, NULL, 10)) < 0)
		return false;
	(void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%ld/cpulist", node);
	return read_line(root, path, text, sizeof(text)) && parse_cores(text, ret_set);
}

/* Finds the cores near an interface. The device of a virtio interface has no such attributes; its parent, the
 * PCI function, has them. */
static bool local_cores(const char *root, const char *nic, cpu_set_t *ret_set)
{
	char device[PATH_MAX_BYTES / 2];

	(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device", nic);
	if (device_cores(root, device, ret_set))
		return true;
	(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device/..", nic);
	return device_cores(root, device, ret_set);
}

static bool nic_exists(const char *root, const char *nic)
{
	char path[PATH_MAX_BYTES];

	(void)snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, nic);
	return !strchr(nic, '/') && access(path, F_OK) == 0;
}

static void split_decode(const cpu_set_t *allowed, struct nic_cores *cores)
{
	CPU_ZERO(&cores->decode);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && !CPU_ISSET(cpu, &cores->network))
			CPU_SET(cpu, &cores->decode);
	/* Fewer than two cores would be too few for the decoders: let them use all cores. */
	if (CPU_COUNT(&cores->decode) < 2)
		cores->decode = *allowed;
}

int nic_cores_find(const char *root, const char *nic, const char *cores, struct nic_cores *ret_cores,
		   struct error *err)
{
	struct nic_cores found = { 0 };
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return error_set(err, -errno, "cannot read this process's cores: %s", strerror(errno));
	if (strcmp(nic, "auto") != 0) {
		if (!nic_exists(root, nic))
			return error_set(
				err, -EINVAL,
				"fetch.nic: found \"%s\", allowed: an interface of this box or \"auto\"",
				nic);
		(void)snprintf(found.nic, sizeof(found.nic), "%s", nic);
	} else {
		(void)default_route(root, found.nic);
	}
	if (strcmp(cores, "auto") != 0) {
		cpu_set_t wanted;

		if (!parse_cores(cores, &wanted))
			return error_set(err, -EINVAL, "fetch.cores: found \"%s\", allowed: a CPU list",
					 cores);
		CPU_AND(&found.network, &wanted, &allowed);
		if (!CPU_EQUAL(&found.network, &wanted))
			return error_set(
				err, -EINVAL,
				"fetch.cores: found \"%s\", not all of them are there for this process",
				cores);
		found.known = true;
	} else if (*found.nic && local_cores(root, found.nic, &found.network)) {
		CPU_AND(&found.network, &found.network, &allowed);
		found.known = CPU_COUNT(&found.network) > 0;
	}
	if (!found.known)
		found.network = allowed;
	split_decode(&allowed, &found);
	*ret_cores = found;
	return 0;
}

void nic_cores_text(const cpu_set_t *set, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++) {
		size_t first = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, set))
			cpu++;
		used += (size_t)snprintf(out + used, size - used, first == cpu ? "%s%zu" : "%s%zu-%zu",
					 used ? "," : "", first, cpu);
	}
}

void nic_pin(const cpu_set_t *set)
{
	/* The binding is only an optimisation: where the kernel refuses it, the thread runs on any core. */
	(void)pthread_setaffinity_np(pthread_self(), sizeof(*set), set);
}
