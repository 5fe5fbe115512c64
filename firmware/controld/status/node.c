/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/node.h"
#include "controld/status/figure.h"
#include "core/base/paths.h"
#include "core/base/version.h"
#include "core/box/image.h"
#include "drivers/sensors/sensors.h"

#include <glob.h>
#include <math.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define TEMPERATURES_MAX 64
#define NOTE_MAX         65536u /* bytes of a note */

/* Adds the number that a file of one line contains; null if there is no such file or number. */
static void add_number_of(cJSON *object, const char *key, const char *path)
{
	char text[32], *end;
	long long value;

	if (sensors_line(path, text, sizeof(text)) &&
	    (value = strtoll(text, &end, 10), end > text && !*end) && value >= 0)
		(void)json_add_u64(object, key, (uint64_t)value);
	else
		(void)cJSON_AddNullToObject(object, key);
}

cJSON *node_disk(void)
{
	char path[PATH_BYTES];
	struct statvfs disk;
	cJSON *object;
	char *slash;

	/* Before the first run the folder of runs does not exist: its parent folders are on the same disk. */
	(void)path_of(PATH_RUNS, NULL, path);
	while (statvfs(path, &disk) < 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	if (statvfs(path, &disk) < 0 || disk.f_blocks == 0)
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	(void)json_add_u64(object, "total_bytes", disk.f_blocks * disk.f_frsize);
	(void)json_add_u64(object, "free_bytes", disk.f_bavail * disk.f_frsize);
	(void)cJSON_AddNumberToObject(object, "free_percent",
				      floor(1000.0 * (double)disk.f_bavail / (double)disk.f_blocks) / 10);
	return object;
}

static void add_temperature(void *context, const struct sensors_reading *reading)
{
	cJSON *list = context, *item;

	if (cJSON_GetArraySize(list) >= TEMPERATURES_MAX)
		return;
	item = cJSON_CreateObject();
	(void)cJSON_AddItemToObject(item, "name", json_string(reading->name));
	(void)cJSON_AddNumberToObject(item, "celsius", reading->celsius);
	(void)cJSON_AddItemToArray(list, item);
}

cJSON *node_temperatures(void)
{
	cJSON *list = cJSON_CreateArray();
	char folder[PATH_BYTES];

	if (list)
		sensors_temperatures(path_of(PATH_HWMON, NULL, folder), add_temperature, list);
	return list;
}

static cJSON *nics(void)
{
	cJSON *list = cJSON_CreateArray();
	glob_t found = { 0 };

	if (glob("/sys/class/net/*", 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *folder = found.gl_pathv[i], *name = strrchr(folder, '/') + 1;
			char path[512], state[32] = "unknown";
			cJSON *nic;

			if (strcmp(name, "lo") == 0)
				continue;
			nic = cJSON_CreateObject();
			(void)cJSON_AddItemToObject(nic, "name", json_string(name));
			(void)snprintf(path, sizeof(path), "%s/operstate", folder);
			(void)sensors_line(path, state, sizeof(state));
			(void)cJSON_AddItemToObject(nic, "state", json_string(state));
			(void)snprintf(path, sizeof(path), "%s/speed", folder);
			add_number_of(nic, "speed_mbit_per_s", path);
			(void)snprintf(path, sizeof(path), "%s/device/numa_node", folder);
			add_number_of(nic, "numa_node", path);
			(void)cJSON_AddItemToArray(list, nic);
		}
	globfree(&found);
	return list;
}

/* Returns what a note says; JSON null if there is none. */
static cJSON *note_of(enum path which)
{
	char path[PATH_BYTES];
	cJSON *note;

	return json_read(path_of(which, NULL, path), NOTE_MAX, &note, NULL) < 0 ? cJSON_CreateNull() : note;
}

static cJSON *hugepages(void)
{
	cJSON *object = cJSON_CreateObject();

	add_number_of(object, "pages_2mib", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
	add_number_of(object, "pages_1gib", "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
	add_number_of(object, "free_2mib", "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
	return object;
}

/* Describes the first watchdog of the machine, which systemd resets regularly (RuntimeWatchdogSec=). */
static cJSON *watchdog(void)
{
	char text[64] = "";
	cJSON *object;

	if (!sensors_line("/sys/class/watchdog/watchdog0/identity", text, sizeof(text)))
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	(void)cJSON_AddItemToObject(object, "name", json_string(text));
	(void)cJSON_AddBoolToObject(object, "active",
				    sensors_line("/sys/class/watchdog/watchdog0/state", text, sizeof(text)) &&
					    strcmp(text, "active") == 0);
	add_number_of(object, "timeout_s", "/sys/class/watchdog/watchdog0/timeout");
	return object;
}

static void add_system(cJSON *object)
{
	CLEANUP(close_file) FILE *file = fopen("/etc/os-release", "re");
	struct utsname kernel;
	char line[256];

	if (uname(&kernel) == 0) {
		(void)cJSON_AddItemToObject(object, "host", json_string(kernel.nodename));
		(void)cJSON_AddItemToObject(object, "kernel", json_string(kernel.release));
	}
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "PRETTY_NAME=\"", 13) == 0) {
			line[13 + strcspn(line + 13, "\"\n")] = '\0';
			(void)cJSON_AddItemToObject(object, "system", json_string(line + 13));
		}
}

cJSON *node_info(const struct status *traind)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const char *device = traind && *traind->traind.device ? traind->traind.device : NULL;
	cJSON *object = cJSON_CreateObject();

	if (!object)
		return NULL;
	add_system(object);
	(void)cJSON_AddStringToObject(object, "version", KILN_VERSION);
	(void)image_add(object);
	(void)cJSON_AddNumberToObject(object, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
	(void)json_add_u64(object, "memory_bytes", (uint64_t)pages * (uint64_t)page);
	(void)cJSON_AddItemToObject(object, "hugepages", hugepages());
	figure_text(object, "gpu", device ? strndupa(device, sizeof(traind->traind.device)) : NULL);
	(void)cJSON_AddItemToObject(object, "devices", note_of(PATH_DEVICES));
	(void)cJSON_AddItemToObject(object, "nics", nics());
	(void)cJSON_AddItemToObject(object, "network", note_of(PATH_STEERED));
	(void)cJSON_AddItemToObject(object, "watchdog", watchdog());
	(void)cJSON_AddItemToObject(object, "disk", node_disk());
	(void)cJSON_AddItemToObject(object, "temperatures", node_temperatures());
	return object;
}
