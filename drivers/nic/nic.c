/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/nic/nic.h"

#include "core/base/paths.h"
#include "drivers/cores/cores.h"

#include <glob.h>
#include <string.h>

#define PATH_MAX_BYTES 512
#define LOWER_DEPTH    4u /* a bridge over a VLAN over a bond over its slaves has 3 */

/* Parses a line of /proc/net/route (proc(5)): the default route has the destination 0. */
static bool is_default_ipv4(const char *line, char nic[static NIC_NAME_BYTES])
{
	char destination[16];

	return sscanf(line, "%63s %15s", nic, destination) == 2 && strcmp(destination, "00000000") == 0;
}

/* Parses a line of /proc/net/ipv6_route: destination and length of its prefix, the same of the source, next
 * hop, metric, two counters, flags, interface. The kernel has a default route to nowhere on lo. */
static bool is_default_ipv6(const char *line, char nic[static NIC_NAME_BYTES])
{
	char destination[33], length[3];

	return sscanf(line, "%32s %2s %*s %*s %*s %*s %*s %*s %*s %63s", destination, length, nic) == 3 &&
	       strspn(destination, "0") == 32 && strcmp(length, "00") == 0 && strcmp(nic, "lo") != 0;
}

static bool find_line(const char *root, const char *table, char nic[static NIC_NAME_BYTES],
		      bool (*is_default)(const char *line, char nic[static NIC_NAME_BYTES]))
{
	CLEANUP(close_file) FILE *file = NULL;
	char path[PATH_MAX_BYTES], line[512];

	(void)snprintf(path, sizeof(path), "%s%s", root, table);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (is_default(line, nic))
			return true;
	*nic = '\0';
	return false;
}

/* Returns 1, 0 or a negative errno, as file_exists(). */
static int nic_exists(const char *root, const char *nic, struct error *err)
{
	char path[PATH_MAX_BYTES];

	(void)snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, nic);
	return *nic && !strchr(nic, '/') ? file_exists(path, err) : 0;
}

/* Reads the interface that nic_route_note() wrote down; it may be gone by now. */
static bool noted_route(const char *root, char nic[static NIC_NAME_BYTES])
{
	char path[PATH_BYTES];

	if (cores_line("", path_of(PATH_ROUTE, NULL, path), nic, NIC_NAME_BYTES) &&
	    nic_exists(root, nic, NULL) > 0)
		return true;
	*nic = '\0';
	return false;
}

/* The device of a virtio interface has no such attributes; its parent, the PCI function, has them. */
bool nic_device_cores(const char *root, const char *nic, cpu_set_t *ret_set)
{
	char device[PATH_MAX_BYTES / 2];

	(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device", nic);
	if (cores_near(root, device, ret_set))
		return true;
	(void)snprintf(device, sizeof(device), "/sys/class/net/%s/device/..", nic);
	return cores_near(root, device, ret_set);
}

static void add_device(const char *nic, struct nic_cores *cores)
{
	for (unsigned i = 0; i < cores->devices; i++)
		if (strcmp(cores->device[i], nic) == 0)
			return;
	if (cores->devices < NIC_DEVICES_MAX)
		(void)snprintf(cores->device[cores->devices++], NIC_NAME_BYTES, "%s", nic);
}

/* Collects the interfaces with a device: this one, or those to which its links "lower_NAME" lead
 * (Documentation/ABI/testing/sysfs-class-net), a VLAN on a bond for example. */
static void find_devices(const char *root, const char *nic, unsigned depth, struct nic_cores *cores)
{
	char pattern[PATH_MAX_BYTES];
	glob_t found = { 0 };

	(void)snprintf(pattern, sizeof(pattern), "%s/sys/class/net/%s/device", root, nic);
	if (access(pattern, F_OK) == 0) {
		add_device(nic, cores);
		return;
	}
	(void)snprintf(pattern, sizeof(pattern), "%s/sys/class/net/%s/lower_*", root, nic);
	if (depth > 0 && glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			find_devices(root, strrchr(found.gl_pathv[i], '/') + sizeof("/lower_") - 1, depth - 1,
				     cores);
	globfree(&found);
}

/* Reads the speed of a link (Documentation/ABI/testing/sysfs-class-net). Returns 0 where the file cannot be
 * read, as while the link is down, or where the driver does not know the speed: -1. */
static uint64_t speed_of(const char *root, const char *nic)
{
	char path[PATH_MAX_BYTES], line[32];
	long speed = 0;

	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/speed", nic);
	if (cores_line(root, path, line, sizeof(line)))
		speed = strtol(line, NULL, 10);
	return speed > 0 && speed < INT32_MAX ? (uint64_t)speed : 0;
}

/* Collects the cores near all devices. False: of one device they are not known. */
static bool cores_of_devices(const char *root, struct nic_cores *cores)
{
	for (unsigned i = 0; i < cores->devices; i++) {
		cpu_set_t near;

		if (!nic_device_cores(root, cores->device[i], &near))
			return false;
		CPU_OR(&cores->network, &cores->network, &near);
	}
	return cores->devices > 0;
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

static int choose_nic(const char *root, const char *nic, struct nic_cores *cores, struct error *err)
{
	int r;

	if (strcmp(nic, "auto") == 0) {
		(void)(noted_route(root, cores->nic) ||
		       find_line(root, "/proc/net/route", cores->nic, is_default_ipv4) ||
		       find_line(root, "/proc/net/ipv6_route", cores->nic, is_default_ipv6));
		return 0;
	}
	if ((r = nic_exists(root, nic, err)) < 0)
		return r;
	if (r == 0)
		return error_set(err, -EINVAL,
				 "fetch.nic: found \"%s\", allowed: an interface of this box or \"auto\"",
				 nic);
	(void)snprintf(cores->nic, sizeof(cores->nic), "%s", nic);
	return 0;
}

static int use_cores(const char *text, const cpu_set_t *allowed, struct nic_cores *cores, struct error *err)
{
	cpu_set_t wanted;

	if (!cores_parse(text, &wanted))
		return error_set(err, -EINVAL, "fetch.cores: found \"%s\", allowed: a CPU list", text);
	CPU_AND(&cores->network, &wanted, allowed);
	if (!CPU_EQUAL(&cores->network, &wanted))
		return error_set(err, -EINVAL,
				 "fetch.cores: found \"%s\", not all of them are there for this process",
				 text);
	cores->known = true;
	return 0;
}

int nic_cores_among(const char *root, const char *nic, const char *cores, const cpu_set_t *allowed,
		    struct nic_cores *ret_cores, struct error *err)
{
	struct nic_cores found = { 0 };
	int r = choose_nic(root, nic, &found, err);

	if (r < 0)
		return r;
	if (*found.nic)
		find_devices(root, found.nic, LOWER_DEPTH, &found);
	for (unsigned i = 0; i < found.devices; i++)
		found.mbit_per_s += speed_of(root, found.device[i]);
	if (strcmp(cores, "auto") != 0) {
		if ((r = use_cores(cores, allowed, &found, err)) < 0)
			return r;
	} else if (cores_of_devices(root, &found)) {
		CPU_AND(&found.network, &found.network, allowed);
		found.known = CPU_COUNT(&found.network) > 0;
	}
	if (!found.known)
		found.network = *allowed;
	split_decode(allowed, &found);
	*ret_cores = found;
	return 0;
}

int nic_cores_find(const char *root, const char *nic, const char *cores, struct nic_cores *ret_cores,
		   struct error *err)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return error_set(err, -errno, "cannot read this process's cores: %s", strerror(errno));
	return nic_cores_among(root, nic, cores, &allowed, ret_cores, err);
}
