/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/manifest.h"

#include "core/base/json.h"

#include <stdlib.h>
#include <string.h>

static int get_text(const cJSON *object, const char *member, size_t max, char *out, struct error *err)
{
	const char *text;
	int r = json_get_string(MANIFEST_NAME, object, member, &text, err);

	if (r < 0)
		return r;
	if (strlen(text) >= max)
		return error_set(err, -EBADMSG, MANIFEST_NAME ": \"%s\" of %zu bytes, at most %zu", member,
				 strlen(text), max - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

int manifest_parse(const char *text, uint64_t bytes, struct manifest_line *ret_line, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	struct manifest_line line = { 0 };
	int r;

	if ((r = json_parse(MANIFEST_NAME, text, bytes, &object, err)) < 0 ||
	    (r = get_text(object, "key", sizeof(line.key), line.key, err)) < 0 ||
	    (r = json_get_u64(MANIFEST_NAME, object, "size", &line.size, err)) < 0)
		return r;
	if (!*line.key)
		return error_set(err, -EBADMSG, MANIFEST_NAME ": an empty key");
	if (cJSON_GetObjectItemCaseSensitive(object, "etag") &&
	    (r = get_text(object, "etag", sizeof(line.etag), line.etag, err)) < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(object, "sha256") &&
	    (r = get_text(object, "sha256", sizeof(line.sha256), line.sha256, err)) < 0)
		return r;
	if (cJSON_GetObjectItemCaseSensitive(object, "records") &&
	    (r = json_get_u64(MANIFEST_NAME, object, "records", &line.records, err)) < 0)
		return r;
	*ret_line = line;
	return 0;
}

void manifest_print(const char *key, uint64_t size, const char *etag, const char *sha256, uint64_t records,
		    FILE *out)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	char *line;

	cJSON_AddStringToObject(json, "key", key);
	json_add_u64(json, "size", size);
	cJSON_AddStringToObject(json, "etag", etag);
	cJSON_AddStringToObject(json, "sha256", sha256);
	json_add_u64(json, "records", records);
	line = cJSON_PrintUnformatted(json);
	fprintf(out, "%s\n", line ? line : "");
	free(line);
}
