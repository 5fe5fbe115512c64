/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/files.h"

#include <string.h>

#define JSON_FILE_MAX (4u << 20)

int files_read(const char *id, const char *name, cJSON **ret_json, struct error *err)
{
	char path[PATH_BYTES];
	int r = json_read(tracking_path(id, name, path), JSON_FILE_MAX, ret_json, err);

	if (r == -ENOENT || r == -EBADMSG || (r == 0 && !cJSON_IsObject(*ret_json))) {
		json_free(ret_json);
		*ret_json = cJSON_CreateObject();
		r = *ret_json ? 0 : error_set(err, -ENOMEM, "%s: no memory", path);
	}
	return r;
}

int files_write(const char *id, const char *name, const cJSON *json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = json_print_line(json, &text, err);

	if (r == 0)
		r = path_make(tracking_path(id, "", path), err);
	return r < 0 ? r : file_write_durable(tracking_path(id, name, path), text, strlen(text), err);
}

const char *files_text(const cJSON *json, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));

	return text ? text : "";
}

double files_number(const cJSON *json, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

bool files_flag(const cJSON *json, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, key));
}

int files_set(cJSON *json, const char *key, cJSON *item, struct error *err)
{
	if (!item)
		return error_set(err, -ENOMEM, "%s: no memory", key);
	cJSON_DeleteItemFromObjectCaseSensitive(json, key);
	return cJSON_AddItemToObject(json, key, item) ? 0 : error_set(err, -ENOMEM, "%s: no memory", key);
}
