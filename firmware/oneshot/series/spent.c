/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/spent.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/run/spool.h"
#include "core/run/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BOOT_ID_BYTES 37u

/* Reads the id of this boot; "" where it is not known. */
static void read_boot(char out[static BOOT_ID_BYTES])
{
	CLEANUP(close_file) FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(out, BOOT_ID_BYTES, file))
		*out = '\0';
}

/* Returns when a file was written; -INFINITY: it is not there. */
static double written_s(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (double)st.st_mtim.tv_sec : -INFINITY;
}

struct newest {
	const char *run_id;
	double last_s;
};

static int look_at(void *context, const char *name, uint64_t bytes)
{
	struct newest *newest = context;
	char path[PATH_BYTES];

	(void)bytes;
	newest->last_s = fmax(newest->last_s, written_s(spool_path(newest->run_id, name, path)));
	return 0;
}

/* Returns when the trainer wrote last to the record or to the spool of the current run; -INFINITY: there is
 * no run. The state of the run counts not, because other programs write it, too, long after the work. */
static double wrote_s(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	char path[PATH_BYTES];
	struct newest newest = { .last_s = written_s(path_of(PATH_RUN, "run.json", path)) };
	struct error err;

	if (run_load(&run, &err) < 0)
		return newest.last_s;
	newest.run_id = run.id;
	if (spool_list(run.id, look_at, &newest, &err) < 0)
		log_debug("%s", err.text);
	return newest.last_s;
}

/* Returns when the trainer of this slot worked last: by its status page, which goes with its service and with
 * the power, else by what it wrote. -INFINITY: there is neither. */
static double worked_s(void)
{
	struct status page;

	return status_read(STATUS_TRAIND, &page, NULL) == 0 ? (double)page.updated_us / 1e6 : wrote_s();
}

/* Returns how long ago a trainer worked last, of any slot. INFINITY: none has. */
static double idle_s(void)
{
	const unsigned mine = slot_now();
	double last_s = -INFINITY;

	for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		last_s = fmax(last_s, worked_s());
	}
	(void)slot_use(mine);
	return fmax((double)clock_day_us() / 1e6 - last_s, 0);
}

/* Returns the seconds of work since the mark; the last `idle` of them had none. */
static double since(const cJSON *mark, const char *boot, double idle)
{
	const char *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(mark, "boot"));

	if (!mark)
		return 0;
	if (then && *then && strcmp(then, boot) == 0)
		return fmax(clock_boot_s() - json_number(mark, "boot_s", 0) - idle, 0);
	return fmin(fmax((double)time(NULL) - json_number(mark, "unix_s", 0) - idle, 0), SPENT_JUMP_MAX_S);
}

static void set_mark(cJSON *series, const char *boot)
{
	cJSON *mark = cJSON_CreateObject();

	cJSON_AddStringToObject(mark, "boot", boot);
	cJSON_AddNumberToObject(mark, "boot_s", clock_boot_s());
	cJSON_AddNumberToObject(mark, "unix_s", (double)time(NULL));
	(void)series_set(series, "mark", mark);
}

static void count(cJSON *series, bool goes_on, double idle)
{
	const double so_far = json_number(series, "spent_s", 0);
	char boot[BOOT_ID_BYTES];

	read_boot(boot);
	(void)series_set(series, "spent_s",
			 cJSON_CreateNumber(so_far + since(cJSON_GetObjectItemCaseSensitive(series, "mark"),
							   boot, idle)));
	cJSON_DeleteItemFromObjectCaseSensitive(series, "mark");
	if (goes_on)
		set_mark(series, boot);
}

void spent_count(cJSON *series, bool goes_on)
{
	count(series, goes_on, idle_s());
}

int64_t spent_s(const cJSON *series)
{
	return (int64_t)json_number(series, "spent_s", 0);
}

int64_t spent_left_s(const cJSON *series, const char *budget)
{
	char *end;
	const long hours = strtol(budget, &end, 10);

	return *end == ':' ? (hours * 60 + strtol(end + 1, NULL, 10)) * 60 - spent_s(series) : INT64_MAX;
}
