/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/path.h"

#include <string.h>

#define FOUND_BYTES 60

static const cJSON *member(const struct path_object *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object->json, key);
}

static const char *dot(const struct path_object *object)
{
	return *object->path ? "." : "";
}

int path_refuse(const struct path_object *object, const char *key, const char *expected, struct error *err)
{
	CLEANUP(free_ptr) char *found = NULL;
	const cJSON *value = member(object, key);

	if (value && (cJSON_IsObject(value) || cJSON_IsArray(value)))
		return error_set(err, -EBADMSG, "tokenizer.json: %s%s%s: found an %s, expected %s",
				 object->path, dot(object), key, cJSON_IsObject(value) ? "object" : "array",
				 expected);
	if (value)
		found = cJSON_PrintUnformatted(value);
	return error_set(err, -EBADMSG, "tokenizer.json: %s%s%s: found %.*s, expected %s", object->path,
			 dot(object), key, FOUND_BYTES, found ? found : "nothing", expected);
}

bool path_has(const struct path_object *object, const char *key)
{
	const cJSON *value = member(object, key);

	return value && !cJSON_IsNull(value);
}

int path_object(const struct path_object *object, const char *key, struct path_object *ret, struct error *err)
{
	const cJSON *value = member(object, key);

	if (!cJSON_IsObject(value))
		return path_refuse(object, key, "an object", err);
	ret->json = value;
	(void)snprintf(ret->path, sizeof(ret->path), "%.100s%s%.60s", object->path, dot(object), key);
	return 0;
}

int path_item(const struct path_object *object, const char *key, const cJSON *item, unsigned index,
	      struct path_object *ret, struct error *err)
{
	(void)snprintf(ret->path, sizeof(ret->path), "%.100s%s%.60s[%u]", object->path, dot(object), key,
		       index);
	if (!cJSON_IsObject(item))
		return error_set(err, -EBADMSG, "tokenizer.json: %s: expected an object", ret->path);
	ret->json = item;
	return 0;
}

int path_bool(const struct path_object *object, const char *key, bool otherwise, bool *ret, struct error *err)
{
	const cJSON *value = member(object, key);

	if (value && !cJSON_IsBool(value) && !cJSON_IsNull(value))
		return path_refuse(object, key, "true or false", err);
	*ret = cJSON_IsBool(value) ? cJSON_IsTrue(value) : otherwise;
	return 0;
}

int path_string(const struct path_object *object, const char *key, const char **ret, struct error *err)
{
	const cJSON *value = member(object, key);

	if (!cJSON_IsString(value))
		return path_refuse(object, key, "a string", err);
	*ret = value->valuestring;
	return 0;
}

int path_id(const struct path_object *object, const char *key, uint32_t limit, uint32_t *ret,
	    struct error *err)
{
	const cJSON *value = member(object, key);
	char expected[64];

	if (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble < limit &&
	    value->valuedouble == (double)(uint32_t)value->valuedouble) {
		*ret = (uint32_t)value->valuedouble;
		return 0;
	}
	(void)snprintf(expected, sizeof(expected), "a whole number below %u", limit);
	return path_refuse(object, key, expected, err);
}

int path_array(const struct path_object *object, const char *key, const cJSON **ret, struct error *err)
{
	static const cJSON none = { .type = cJSON_Array };
	const cJSON *value = member(object, key);

	if (path_has(object, key) && !cJSON_IsArray(value))
		return path_refuse(object, key, "an array", err);
	*ret = path_has(object, key) ? value : &none;
	return 0;
}

static bool listed(const char *keys, const char *key)
{
	const size_t bytes = strlen(key);

	for (const char *at = strchr(key, ' ') ? "" : keys; *at; at = strchr(at, ' ') + 1)
		if (strncmp(at, key, bytes) == 0 && at[bytes] == ' ')
			return true;
	return false;
}

int path_only(const struct path_object *object, const char *keys, struct error *err)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, object->json)
		if (!listed(keys, item->string))
			return error_set(err, -EBADMSG,
					 "tokenizer.json: %s%s%.100s: is not known; known are: %s",
					 object->path, dot(object), item->string, keys);
	return 0;
}

int path_empty_member(const struct path_object *object, const char *key, struct error *err)
{
	const cJSON *value = member(object, key);

	if (!value || cJSON_IsNull(value) || cJSON_IsFalse(value) ||
	    (cJSON_IsNumber(value) && value->valuedouble == 0) ||
	    (cJSON_IsString(value) && *value->valuestring == '\0') ||
	    ((cJSON_IsArray(value) || cJSON_IsObject(value)) && !value->child))
		return 0;
	return path_refuse(object, key, "null", err);
}
