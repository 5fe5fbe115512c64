/* SPDX-License-Identifier: Apache-2.0 */
/* What the record of a run says about its data, for a run that repeats it. */
#include "core/config/config.h"
#include "core/run/run_record.h"

#define WHAT "run.json"

static int copy_text(const char *what, const cJSON *from, const char *key, cJSON *copy, struct error *err)
{
	const char *text;
	int r = json_get_string(what, from, key, &text, err);

	if (r == 0 && !cJSON_AddStringToObject(copy, key, text))
		r = error_set(err, -ENOMEM, WHAT ": no memory");
	return r;
}

static int copy_number(const char *what, const cJSON *from, const char *key, cJSON *copy, struct error *err)
{
	uint64_t number;
	int r = json_get_u64(what, from, key, &number, err);

	if (r == 0 && !json_add_u64(copy, key, number))
		r = error_set(err, -ENOMEM, WHAT ": no memory");
	return r;
}

static int copy_manifests(const cJSON *list, cJSON *record, struct error *err)
{
	static const char what[] = WHAT ": manifests";
	cJSON *copies = cJSON_AddArrayToObject(record, "manifests");
	const cJSON *from;
	int r = 0;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)CONFIG_SOURCES_MAX)
		return error_set(err, -EBADMSG, "%s: expected a list of at most %u objects", what,
				 CONFIG_SOURCES_MAX);
	cJSON_ArrayForEach(from, list) {
		cJSON *copy = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(copies, copy))
			return error_set(err, -ENOMEM, WHAT ": no memory");
		if ((r = copy_number(what, from, "bytes", copy, err)) < 0 ||
		    (r = copy_text(what, from, "etag", copy, err)) < 0 ||
		    (r = copy_text(what, from, "version", copy, err)) < 0)
			return r;
	}
	return 0;
}

static int copy_seen(const char *key, const cJSON *seen, cJSON *record, struct error *err)
{
	static const char *const numbers[] = { "shards", "replaced", "of" };
	cJSON *copy = cJSON_AddObjectToObject(record, key);
	char what[64];
	const char *id;
	int r;

	(void)snprintf(what, sizeof(what), WHAT ": %s", key);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if ((r = copy_number(what, seen, numbers[i], copy, err)) < 0)
			return r;
	if ((r = copy_text(what, seen, "run", copy, err)) < 0 ||
	    (r = json_get_string(what, copy, "run", &id, err)) < 0)
		return r;
	return run_is_id(id) ? 0
			     : error_set(err, -EBADMSG, "%s: found run \"%.100s\", expected the id of a run",
					 what, id);
}

static const cJSON *member(const cJSON *record, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(record, key);

	return cJSON_IsNull(item) ? NULL : item;
}

int record_copy_known(const cJSON *old, cJSON *record, struct error *err)
{
	static const char *const seen[] = { "validation_seen", "test_seen" };
	const cJSON *list = member(old, "manifests");
	int r = record_copy_commits(old, record, err);

	if (r == 0 && list)
		r = copy_manifests(list, record, err);
	for (size_t i = 0; r == 0 && i < sizeof(seen) / sizeof(seen[0]); i++)
		if (member(old, seen[i]))
			r = copy_seen(seen[i], member(old, seen[i]), record, err);
	return r;
}
