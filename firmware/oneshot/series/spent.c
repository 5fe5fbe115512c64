/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/spent.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BOOT_ID_BYTES 37u

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

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

static double since(const cJSON *mark, const char *boot)
{
	const char *then = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(mark, "boot"));
	double passed;

	if (!mark)
		return 0;
	if (then && *then && strcmp(then, boot) == 0)
		return boot_s() - number(mark, "boot_s");
	passed = (double)time(NULL) - number(mark, "unix_s");
	return passed < 0 ? 0 : passed > SPENT_JUMP_MAX_S ? SPENT_JUMP_MAX_S : passed;
}

static void set_mark(cJSON *series, const char *boot)
{
	cJSON *mark = cJSON_CreateObject();

	cJSON_AddStringToObject(mark, "boot", boot);
	cJSON_AddNumberToObject(mark, "boot_s", boot_s());
	cJSON_AddNumberToObject(mark, "unix_s", (double)time(NULL));
	(void)series_set(series, "mark", mark);
}

void spent_count(cJSON *series, bool goes_on)
{
	const double so_far = number(series, "spent_s");
	char boot[BOOT_ID_BYTES];

	read_boot(boot);
	(void)series_set(
		series, "spent_s",
		cJSON_CreateNumber(so_far + since(cJSON_GetObjectItemCaseSensitive(series, "mark"), boot)));
	cJSON_DeleteItemFromObjectCaseSensitive(series, "mark");
	if (goes_on)
		set_mark(series, boot);
}

int64_t spent_s(const cJSON *series)
{
	return (int64_t)number(series, "spent_s");
}

int64_t spent_left_s(const cJSON *series, const char *budget)
{
	char *end;
	const long hours = strtol(budget, &end, 10);

	return *end == ':' ? (hours * 60 + strtol(end + 1, NULL, 10)) * 60 - spent_s(series) : INT64_MAX;
}
