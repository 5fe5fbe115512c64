/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/reports.h"

#include <dirent.h>
#include <string.h>
#include <time.h>

static const char *const forms[] = { "json", "txt", "html",
				     "pending" }; /* file name suffixes of a finished report */

char *report_id(int64_t from_s, char out[static REPORT_ID_BYTES])
{
	const time_t time = from_s;
	struct tm tm = { 0 };

	(void)gmtime_r(&time, &tm);
	(void)strftime(out, REPORT_ID_BYTES, "%Y%m%d-%H%M%S", &tm);
	return out;
}

char *report_path(const char *id, const char *form, char out[static PATH_BYTES])
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s.%.16s", (int)REPORT_ID_BYTES - 1, id, form);
	return path_of(PATH_REPORTS, name, out);
}

/* Tells whether a file name is an id with this suffix, such as "20261122-220000.json". */
static bool is_report(const char *name, const char *form)
{
	const size_t length = REPORT_ID_BYTES - 1;

	return strlen(name) > length + 1 && strspn(name, "0123456789-") == length && name[length] == '.' &&
	       strcmp(name + length + 1, form) == 0;
}

int report_list(const char *form, char (**ret_ids)[REPORT_ID_BYTES], uint32_t *ret_count, struct error *err)
{
	struct dirent **entries = NULL;
	char folder[PATH_BYTES];
	int count = scandir(path_of(PATH_REPORTS, NULL, folder), &entries, NULL, alphasort);
	char(*ids)[REPORT_ID_BYTES];
	uint32_t found = 0;

	if (count < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot list it: %s", folder, strerror(errno));
	ids = calloc(count > 0 ? (size_t)count : 1, sizeof(*ids));
	for (int i = 0; i < count; i++) {
		if (ids && is_report(entries[i]->d_name, form))
			(void)snprintf(ids[found++], sizeof(*ids), "%.15s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (!ids)
		return error_set(err, -ENOMEM, "%s: no memory for %d names", folder, count);
	*ret_ids = ids;
	*ret_count = found;
	return 0;
}

static cJSON *read_json(const char *id, const char *form)
{
	cJSON *json = NULL;
	char path[PATH_BYTES];

	(void)!json_read(report_path(id, form, path), REPORT_BYTES_MAX, &json, NULL);
	return json;
}

/* Returns the newest report; its id stands in `id`. */
static cJSON *load_newest(char id[static REPORT_ID_BYTES])
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	uint32_t count = 0;

	if (report_list("json", &ids, &count, NULL) < 0 || count == 0)
		return NULL;
	memcpy(id, ids[count - 1], REPORT_ID_BYTES);
	return read_json(id, "json");
}

cJSON *report_load_newest(void)
{
	char id[REPORT_ID_BYTES];

	return load_newest(id);
}

cJSON *report_newest(void)
{
	static const char *const copied[] = { "id", "outcome", "text" };
	CLEANUP(json_free) cJSON *report = NULL;
	char id[REPORT_ID_BYTES];
	cJSON *newest, *pending;

	report = load_newest(id);
	if (!report)
		return cJSON_CreateNull();
	newest = cJSON_CreateObject();
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		(void)cJSON_AddItemToObject(newest, copied[i],
					    cJSON_DetachItemFromObjectCaseSensitive(report, copied[i]));
	pending = read_json(id, "pending");
	(void)cJSON_AddItemToObject(newest, "pending", pending ? pending : cJSON_CreateObject());
	return newest;
}

void report_keep(void)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	char path[PATH_BYTES];
	uint32_t count;

	if (report_list("json", &ids, &count, NULL) < 0)
		return;
	for (uint32_t i = 0; i + REPORTS_MAX < count; i++)
		for (size_t form = 0; form < sizeof(forms) / sizeof(forms[0]); form++)
			(void)unlink(report_path(ids[i], forms[form], path));
}
