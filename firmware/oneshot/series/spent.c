/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/spent.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
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

static double boot_s(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns when a file of the current run was written; -INFINITY: it is not there. */
static double written_s(const char *name)
{
	struct stat st;
	char path[PATH_BYTES];

	return stat(path_of(PATH_RUN, name, path), &st) == 0 ? (double)st.st_mtim.tv_sec : -INFINITY;
}

/* Returns how long ago the trainer worked last: by its status page, which goes with its service and with the
 * power, else by the record of its run, to which it writes its end, too. INFINITY: neither is there. */
static double idle_s(void)
{
	struct status page;
	const double last_s = status_read(STATUS_TRAIND, &page, NULL) == 0
				      ? (double)page.updated_us / 1e6
				      : fmax(written_s("run.json"), written_s("state"));

	return fmax((double)clock_day_us() / 1e6 - last_s, 0);
}

/* Returns the seconds of work since the mark; the last `idle` of them had none. */
static double since(const cJSON *mark, const char *boot, double idle)
{
	const char *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(mark, "boot"));

	if (!mark)
		return 0;
	if (then && *then && strcmp(then, boot) == 0)
		return fmax(boot_s() - json_number(mark, "boot_s", 0) - idle, 0);
	return fmin(fmax((double)time(NULL) - json_number(mark, "unix_s", 0) - idle, 0), SPENT_JUMP_MAX_S);
}

static void set_mark(cJSON *series, const char *boot)
{
	cJSON *mark = cJSON_CreateObject();

	cJSON_AddStringToObject(mark, "boot", boot);
	cJSON_AddNumberToObject(mark, "boot_s", boot_s());
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
