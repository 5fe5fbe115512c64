/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/box/data_disk.h"
#include "core/ring/ring.h"
#include "data/batch.h"
#include "drivers/clock/alarm.h"
#include "drivers/clock/rtc.h"
#include "preflight/preflight.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DISK_LEAST_BYTES (UINT64_C(1) << 30) /* for checkpoints that wait for the store, curves and logs */
#define PAGE_2MIB_BYTES  (UINT64_C(2) << 20)
#define PAGE_1GIB_BYTES  (UINT64_C(1) << 30)

/* ---- Disk ---- */

static void check_disk(struct preflight *preflight)
{
	char path[PATH_BYTES];
	struct statvfs disk;
	struct error err = { 0 };
	uint64_t free_bytes;
	char *slash;

	if (data_disk_check(&err) < 0)
		preflight_add(preflight, "disk", PREFLIGHT_WARNING, "repair or replace the disk", "%s",
			      err.text);
	/* Before the first run the folder of runs does not exist: its parent folders are on the same disk. */
	(void)path_of(PATH_RUNS, NULL, path);
	while (statvfs(path, &disk) < 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	if (statvfs(path, &disk) < 0) {
		preflight_add(preflight, "disk", PREFLIGHT_NOT_SEEN, "", "%s: %s", path, strerror(errno));
		return;
	}
	free_bytes = disk.f_bavail * disk.f_frsize;
	preflight_add(preflight, "disk", free_bytes < DISK_LEAST_BYTES ? PREFLIGHT_WARNING : PREFLIGHT_OK,
		      free_bytes < DISK_LEAST_BYTES
			      ? "make space: checkpoints wait on this disk while the store does not answer"
			      : "",
		      "%s: %" PRIu64 " bytes free", path, free_bytes);
}

/* ---- Clock ---- */

static void check_clock(struct preflight *preflight)
{
	const int synced = clock_synced();
	struct error err = { 0 };

	if (synced > 0)
		preflight_add(preflight, "clock", PREFLIGHT_OK, "", "a time server keeps the clock right");
	else if (synced < 0)
		preflight_add(preflight, "clock", PREFLIGHT_NOT_SEEN, "", "whether the clock is right: %s",
			      strerror(-synced));
	else if (rtc_check(&err) == 0)
		preflight_add(preflight, "clock", PREFLIGHT_WARNING,
			      "name a time server that answers in clock.ntp_servers",
			      "no time server keeps the clock right; the hardware clock agrees with it");
	else
		preflight_add(preflight, "clock", PREFLIGHT_WARNING,
			      "name a time server that answers in clock.ntp_servers",
			      "no time server keeps the clock right, and %s", err.text);
}

/* ---- Hugepages ---- */

static bool read_count(const char *path, uint64_t *ret_count)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");

	return file && fscanf(file, "%" SCNu64, ret_count) == 1;
}

static void check_hugepages(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	const bool gib = config->ring.pages == PAGES_1GIB;
	const uint64_t page = gib ? PAGE_1GIB_BYTES : PAGE_2MIB_BYTES;
	struct example_schema schema;
	struct ring_geometry geometry;
	struct error err = { 0 };
	uint64_t needed, pages = 0;

	if (batch_schema(config, &schema, &err) < 0) {
		preflight_add_error(preflight, "hugepages", &err);
		return;
	}
	batch_geometry(config, &schema, config->run.batch_rows, &geometry);
	needed = (ring_file_bytes(&geometry) + page - 1) / page;
	if (!read_count(gib ? "/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages"
			    : "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
			&pages))
		pages = 0;
	if (pages >= needed || config->ring.small_pages)
		preflight_add(preflight, "hugepages", PREFLIGHT_OK, "",
			      "the ring needs %" PRIu64 " pages, %" PRIu64 " are free%s", needed, pages,
			      pages < needed ? "; ring.small_pages allows normal pages" : "");
	else
		preflight_add(preflight, "hugepages", PREFLIGHT_WARNING,
			      "a start by root raises the number where memory is free; otherwise set "
			      "ring.small_pages = true",
			      "the ring needs %" PRIu64 " pages of %" PRIu64 " bytes, %" PRIu64
			      " are free now",
			      needed, page, pages);
}

/* ---- The alarm that switches the box on ---- */

static void check_alarm(struct preflight *preflight)
{
	const struct config *config = preflight->config;
	struct error err = { 0 };

	if (config->power.when_finished == POWER_NOTHING ||
	    (config->power.when_finished == POWER_OFF && config->power.wake_by == WAKE_BY_OTHER))
		return;
	if (alarm_check(&err) == 0)
		preflight_add(preflight, "alarm", PREFLIGHT_OK, "", "a hardware clock can wake the box");
	else
		preflight_add(
			preflight, "alarm", PREFLIGHT_WARNING,
			"allow waking by the clock in the firmware setup, or set power.wake_by = \"other\"",
			"%s, so the box stays on after a night", err.text);
}

void preflight_box(struct preflight *preflight)
{
	check_disk(preflight);
	check_clock(preflight);
	check_hugepages(preflight);
	check_alarm(preflight);
}
