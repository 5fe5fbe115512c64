/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTEGER_MAX 9007199254740992.0 /* 2^53 */

void json_free(cJSON **json)
{
	cJSON_Delete(*json);
}

/* Bytes of the UTF-8 character at `s`, 0 where it is malformed (RFC 3629: no overlong forms, surrogates or >
 * U+10FFFF). */
static unsigned utf8_length(const unsigned char *s, uint64_t left)
{
	unsigned n = *s < 0x80                 ? 1
		     : *s >= 0xc2 && *s < 0xe0 ? 2
		     : (*s & 0xf0) == 0xe0     ? 3
		     : *s >= 0xf0 && *s < 0xf5 ? 4
					       : 0;

	if (n == 0 || n > left)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

static int check_utf8(const char *what, const char *text, uint64_t bytes, struct error *err)
{
	for (uint64_t i = 0; i < bytes;) {
		unsigned n = utf8_length((const unsigned char *)text + i, bytes - i);

		if (n == 0)
			return error_set(err, -EBADMSG, "%s: byte %" PRIu64 " is not UTF-8", what, i);
		i += n;
	}
	return 0;
}

/* Integers beyond 2^53 would come back rounded; they must be strings. */
static int check_tree(const char *what, const cJSON *item, struct error *err)
{
	const cJSON *child;

	if (cJSON_IsNumber(item) && fabs(item->valuedouble) > INTEGER_MAX &&
	    item->valuedouble == floor(item->valuedouble))
		return error_set(err, -EBADMSG,
				 "%s: %s holds an integer above 2^53, expected a decimal string", what,
				 item->string ? item->string : "an element");
	cJSON_ArrayForEach(child, item) {
		int r = check_tree(what, child, err);

		if (r < 0)
			return r;
		for (const cJSON *other = child->next; child->string && other; other = other->next)
			if (strcmp(child->string, other->string) == 0)
				return error_set(err, -EBADMSG, "%s: key \"%s\" stands twice", what,
						 child->string);
	}
	return 0;
}

int json_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_json, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	const char *end = text;
	int r;

	if (bytes > JSON_BYTES_MAX)
		return error_set(err, -E2BIG, "%s: %" PRIu64 " bytes of JSON, at most %u", what, bytes,
				 JSON_BYTES_MAX);
	r = check_utf8(what, text, bytes, err);
	if (r < 0)
		return r;
	json = cJSON_ParseWithLengthOpts(text, bytes, &end, false);
	if (!json)
		return error_set(err, -EBADMSG, "%s: not JSON at byte %td", what, end - text);
	while (end < text + bytes && strchr(" \t\r\n", *end) && *end)
		end++;
	if (end != text + bytes)
		return error_set(err, -EBADMSG, "%s: bytes behind the JSON value at byte %td", what,
				 end - text);
	r = check_tree(what, json, err);
	if (r < 0)
		return r;
	*ret_json = TAKE(json);
	return 0;
}

int json_print(const cJSON *json, char **ret_text, struct error *err)
{
	char *text = cJSON_Print(json);

	if (!text)
		return error_set(err, -ENOMEM, "no memory for JSON text");
	*ret_text = text;
	return 0;
}

static const char *kind_of(const cJSON *item)
{
	return !item                  ? "nothing"
	       : cJSON_IsString(item) ? "a string"
	       : cJSON_IsNumber(item) ? "a number"
	       : cJSON_IsArray(item)  ? "an array"
	       : cJSON_IsObject(item) ? "an object"
				      : "a literal";
}

static int wrong(const char *what, const char *key, const cJSON *item, const char *expected,
		 struct error *err)
{
	return error_set(err, -EBADMSG, "%s: \"%s\": found %s, expected %s", what, key, kind_of(item),
			 expected);
}

int json_get_string(const char *what, const cJSON *object, const char *key, const char **ret,
		    struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsString(item))
		return wrong(what, key, item, "a string", err);
	*ret = item->valuestring;
	return 0;
}

int json_get_u64(const char *what, const cJSON *object, const char *key, uint64_t *ret, struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	unsigned long long value;
	char *end;

	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= INTEGER_MAX &&
	    item->valuedouble == floor(item->valuedouble)) {
		*ret = (uint64_t)item->valuedouble;
		return 0;
	}
	if (!cJSON_IsString(item) || item->valuestring[0] < '0' || item->valuestring[0] > '9')
		return wrong(what, key, item, "a whole number", err);
	errno = 0;
	value = strtoull(item->valuestring, &end, 10);
	if (errno || *end)
		return wrong(what, key, item, "a whole number", err);
	*ret = value;
	return 0;
}

int json_get_double(const char *what, const cJSON *object, const char *key, double *ret, struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(item))
		return wrong(what, key, item, "a number", err);
	*ret = item->valuedouble;
	return 0;
}

bool json_add_u64(cJSON *object, const char *key, uint64_t value)
{
	char text[24];

	if ((double)value <= INTEGER_MAX)
		return cJSON_AddNumberToObject(object, key, (double)value) != NULL;
	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return cJSON_AddStringToObject(object, key, text) != NULL;
}
