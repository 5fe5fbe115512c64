/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves interrupts and queues to the cores of the threads that fetch
 * (Documentation/core-api/irq/irq-affinity.rst, Documentation/networking/scaling.rst). A managed interrupt,
 * which its driver distributed itself, cannot be moved: the kernel answers EIO.
 */
#include "drivers/nic/nic.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>

#define PATH_MAX_BYTES 512
#define MASK_BYTES     (CPU_SETSIZE / 4 + CPU_SETSIZE / 32 + 1)

static int write_line(const char *path, const char *text)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
	char line[MASK_BYTES + 2];
	int bytes = snprintf(line, sizeof(line), "%s\n", text);

	return fd < 0 || write(fd, line, (size_t)bytes) < 0 ? -errno : 0;
}

/* Returns the n-th core of the set; after the last core the count begins at the first again. */
static size_t core_at(const cpu_set_t *cores, unsigned n)
{
	size_t cpu = 0;

	for (n %= (unsigned)CPU_COUNT(cores);; cpu++)
		if (CPU_ISSET(cpu, cores) && n-- == 0)
			return cpu;
}

/* Writes a set of cores as the kernel wants it, such as "3,00000000": words of 32 bits in hex, the highest
 * first, without leading words of zero. */
static void mask_text(const cpu_set_t *cores, char out[static MASK_BYTES])
{
	size_t words = 0, used = 0;

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cores))
			words = cpu / 32 + 1;
	(void)snprintf(out, MASK_BYTES, "0");
	while (words-- > 0) {
		uint32_t word = 0;

		for (size_t bit = 0; bit < 32; bit++)
			if (CPU_ISSET(words * 32 + bit, cores))
				word |= UINT32_C(1) << bit;
		used += (size_t)snprintf(out + used, MASK_BYTES - used, used ? ",%08" PRIx32 : "%" PRIx32,
					 word);
	}
}

static void move_irq(const char *root, const char *irq, size_t core, struct nic_steered *steered)
{
	char path[PATH_MAX_BYTES], text[16];
	int r;

	(void)snprintf(path, sizeof(path), "%s/proc/irq/%s/smp_affinity_list", root, irq);
	(void)snprintf(text, sizeof(text), "%zu", core);
	r = write_line(path, text);
	/* ENOENT: the device has this interrupt, but its driver does not use it. */
	if (r == -ENOENT)
		return;
	steered->irqs++;
	if (r == 0) {
		steered->moved++;
		return;
	}
	if (!*steered->why)
		(void)snprintf(steered->why, sizeof(steered->why), "/proc/irq/%.16s/smp_affinity_list: %s%s",
			       irq, strerror(-r),
			       r == -EIO ? ", as its driver spreads its interrupts by itself" : "");
}

/* Sorts by the interrupts' numbers, so that they are in the order of the queues. */
static int by_number(const void *a, const void *b)
{
	unsigned long one = strtoul(strrchr(*(char *const *)a, '/') + 1, NULL, 10);
	unsigned long other = strtoul(strrchr(*(char *const *)b, '/') + 1, NULL, 10);

	return one < other ? -1 : one > other;
}

static bool move_irqs(const char *root, const char *folder, const cpu_set_t *cores,
		      struct nic_steered *steered)
{
	char pattern[PATH_MAX_BYTES];
	glob_t found = { 0 };
	bool any;

	(void)snprintf(pattern, sizeof(pattern), "%s%s/msi_irqs/[0-9]*", root, folder);
	any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
	if (any)
		qsort(found.gl_pathv, found.gl_pathc, sizeof(found.gl_pathv[0]), by_number);
	for (size_t i = 0; i < found.gl_pathc; i++)
		move_irq(root, strrchr(found.gl_pathv[i], '/') + 1, core_at(cores, steered->irqs), steered);
	globfree(&found);
	return any;
}

static void note_error(struct nic_steered *steered, const char *what, int r)
{
	if (r < 0 && !*steered->why)
		(void)snprintf(steered->why, sizeof(steered->why), "%.80s: %s", what, strerror(-r));
}

/* Sets receive packet steering (RPS). It is off where each core has a receive queue of its own, with the
 * interrupt on that core: a packet then stays on the core that received it. It is on where there are fewer
 * queues than cores, or where an interrupt could not be moved: packets are then distributed over all cores.
 */
static void spread_queues(const char *root, const char *nic, const cpu_set_t *cores,
			  struct nic_steered *steered)
{
	char pattern[PATH_MAX_BYTES], mask[MASK_BYTES];
	glob_t found = { 0 };

	(void)snprintf(pattern, sizeof(pattern), "%s/sys/class/net/%s/queues/rx-*/rps_cpus", root, nic);
	if (glob(pattern, 0, NULL, &found) == 0)
		steered->queues = (unsigned)found.gl_pathc;
	steered->spread = steered->queues < (unsigned)CPU_COUNT(cores) || steered->moved < steered->irqs;
	mask_text(cores, mask);
	for (size_t i = 0; i < found.gl_pathc; i++)
		note_error(steered, found.gl_pathv[i],
			   write_line(found.gl_pathv[i], steered->spread ? mask : "0"));
	globfree(&found);
}

/* Gives each core a send queue (XPS): the n-th core that of the same number as its receive queue, so that one
 * interrupt serves both. A single queue belongs to all cores, and the kernel then has no such setting. */
static void share_send_queues(const char *root, const char *nic, const cpu_set_t *cores,
			      struct nic_steered *steered)
{
	char path[PATH_MAX_BYTES], mask[MASK_BYTES];
	unsigned queues = 0;

	while ((void)snprintf(path, sizeof(path), "%s/sys/class/net/%s/queues/tx-%u/xps_cpus", root, nic,
			      queues),
	       access(path, F_OK) == 0)
		queues++;
	for (unsigned queue = 0; queues > 1 && queue < queues; queue++) {
		cpu_set_t own;
		int r;

		CPU_ZERO(&own);
		for (unsigned n = queue; n < (unsigned)CPU_COUNT(cores); n += queues)
			CPU_SET(core_at(cores, n), &own);
		mask_text(&own, mask);
		(void)snprintf(path, sizeof(path), "%s/sys/class/net/%s/queues/tx-%u/xps_cpus", root, nic,
			       queue);
		r = write_line(path, mask);
		note_error(steered, path, r);
		steered->send_queues += r == 0 && CPU_COUNT(&own) > 0;
	}
}

/* Gives the device a receive queue for each core. More queues would share cores, and cost interrupts. */
static void set_queues(const char *nic, const cpu_set_t *cores, struct nic_steered *steered)
{
	unsigned wanted = (unsigned)CPU_COUNT(cores);
	struct nic_channels channels;
	char what[NIC_NAME_BYTES + 32];
	int r;

	if (nic_channels_get(nic, &channels) < 0)
		return;
	steered->queues_before = channels.now;
	if (wanted > channels.max)
		wanted = channels.max;
	if (wanted == 0 || wanted == channels.now)
		return;
	r = nic_channels_set(nic, wanted);
	(void)snprintf(what, sizeof(what), "%s: %u queues", nic, wanted);
	note_error(steered, what, r);
}

static void steer_device(const char *root, const char *nic, const cpu_set_t *cores,
			 struct nic_steered *ret_steered)
{
	char device[PATH_MAX_BYTES / 2];

	*ret_steered = (struct nic_steered){ 0 };
	set_queues(nic, cores, ret_steered);
	(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device", nic);
	/* A virtio interface: not its device has the interrupts, but the parent of that, the PCI function. */
	if (!move_irqs(root, device, cores, ret_steered)) {
		(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device/..", nic);
		(void)move_irqs(root, device, cores, ret_steered);
	}
	spread_queues(root, nic, cores, ret_steered);
	share_send_queues(root, nic, cores, ret_steered);
	if (!ret_steered->queues_before)
		ret_steered->queues_before = ret_steered->queues;
}

/* Returns the cores for a device: those of `cores` that are near it, or all of them. */
static cpu_set_t cores_of(const char *root, const char *nic, const cpu_set_t *cores)
{
	cpu_set_t near;

	if (nic_device_cores(root, nic, &near)) {
		CPU_AND(&near, &near, cores);
		if (CPU_COUNT(&near) > 0)
			return near;
	}
	return *cores;
}

void nic_steer(const char *root, const struct nic_cores *cores, struct nic_steered *ret_steered)
{
	*ret_steered = (struct nic_steered){ 0 };
	if (CPU_COUNT(&cores->network) == 0)
		return;
	for (unsigned i = 0; i < cores->devices; i++) {
		const cpu_set_t own = cores_of(root, cores->device[i], &cores->network);
		struct nic_steered device;

		steer_device(root, cores->device[i], &own, &device);
		ret_steered->irqs += device.irqs;
		ret_steered->moved += device.moved;
		ret_steered->queues_before += device.queues_before;
		ret_steered->queues += device.queues;
		ret_steered->send_queues += device.send_queues;
		ret_steered->spread |= device.spread;
		if (!*ret_steered->why)
			memcpy(ret_steered->why, device.why, sizeof(device.why));
	}
}
