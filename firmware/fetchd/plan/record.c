/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/plan/record.h"

#include "core/base/json.h"
#include "core/run/run.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define NOTED_MAX 64u /* keys */

/* Guards the read, change and write of the record: several workers may note at once. */
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

int record_note_manifests(const struct store_pin *pin, uint32_t sources, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	cJSON *array = cJSON_AddArrayToObject(object, "manifests");

	for (uint32_t i = 0; i < sources; i++) {
		cJSON *entry = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(array, entry) || !json_add_u64(entry, "bytes", pin[i].bytes) ||
		    !cJSON_AddItemToObject(entry, "etag", json_string(pin[i].etag)) ||
		    !cJSON_AddItemToObject(entry, "version", json_string(pin[i].version)))
			return error_set(err, -ENOMEM, "run.json: no memory");
	}
	return run_note_members(object, err);
}

int record_manifest(uint32_t source, struct store_pin *ret_pin, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const char *etag, *version;
	const cJSON *entry;
	int r = run_record(&record, err);

	memset(ret_pin, 0, sizeof(*ret_pin));
	if (r < 0)
		return r;
	entry = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(record, "manifests"), (int)source);
	if (!entry)
		return 0;
	if ((r = json_get_u64("run.json", entry, "bytes", &ret_pin->bytes, err)) < 0 ||
	    (r = json_get_string("run.json", entry, "etag", &etag, err)) < 0 ||
	    (r = json_get_string("run.json", entry, "version", &version, err)) < 0)
		return r;
	(void)snprintf(ret_pin->etag, sizeof(ret_pin->etag), "%s", etag);
	(void)snprintf(ret_pin->version, sizeof(ret_pin->version), "%s", version);
	return 0;
}

static bool is_noted(const cJSON *list, const char *key)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
		if (cJSON_IsString(item) && strcmp(item->valuestring, key) == 0)
			return true;
	return false;
}

static int note_changed(const char *key, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL, *object = cJSON_CreateObject();
	cJSON *list;
	int r = run_record(&record, err);

	if (r < 0)
		return r;
	list = cJSON_DetachItemFromObjectCaseSensitive(record, "changed");
	list = list ? list : cJSON_CreateArray();
	if (!cJSON_AddItemToObject(object, "changed", list))
		return error_set(err, -ENOMEM, "run.json: no memory");
	if (cJSON_GetArraySize(list) >= (int)NOTED_MAX || is_noted(list, key))
		return 0;
	(void)cJSON_AddItemToArray(list, json_string(key));
	return run_note_members(object, err);
}

int record_note_changed(const char *key, struct error *err)
{
	int r;

	(void)pthread_mutex_lock(&record_lock);
	r = note_changed(key, err);
	(void)pthread_mutex_unlock(&record_lock);
	return r;
}
