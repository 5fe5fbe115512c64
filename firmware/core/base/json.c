/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/base/utf8.h"
#include "core/base/visible.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTEGER_MAX      9007199254740992u /* 2^53 */
#define INTEGER_MAX_TEXT "9007199254740992"

void json_free(cJSON **json)
{
	cJSON_Delete(*json);
}

/* ---- What cJSON accepts, and json_parse() refuses ---- */

struct look {
	const char *what, *text, *at, *end;
	unsigned depth;
	struct error *err;
};

static int refuse(const struct look *look, const char *why)
{
	return error_set(look->err, -EBADMSG, "%s: byte %td: %s", look->what, look->at - look->text, why);
}

/* Checks a string and moves to the character after its closing quote. cJSON alone would end the string at
 * \u0000, and would accept control characters. */
static int look_at_string(struct look *look)
{
	for (look->at++; look->at < look->end && *look->at != '"'; look->at++) {
		if ((unsigned char)*look->at < 0x20)
			return refuse(look, "found a control character in a string");
		if (*look->at != '\\' || look->end - look->at < 2)
			continue;
		if (look->end - look->at >= 6 && memcmp(look->at, "\\u0000", 6) == 0)
			return refuse(look, "found \\u0000, which no string here may hold");
		look->at++;
	}
	if (look->at < look->end)
		look->at++;
	return 0;
}

/* Checks a number. cJSON stores numbers as double, so it would round an integer above 2^53; such integers
 * must be written as strings. */
static int look_at_number(struct look *look)
{
	const char *digits = look->at + (*look->at == '-');
	size_t length;

	while (digits < look->end && *digits == '0')
		digits++;
	for (look->at = digits; look->at < look->end && *look->at >= '0' && *look->at <= '9';)
		look->at++;
	length = (size_t)(look->at - digits);
	if (look->at < look->end && strchr(".eE", *look->at)) {
		while (look->at < look->end && *look->at && strchr("0123456789.eE+-", *look->at))
			look->at++;
		return 0;
	}
	if (length < strlen(INTEGER_MAX_TEXT) ||
	    (length == strlen(INTEGER_MAX_TEXT) && memcmp(digits, INTEGER_MAX_TEXT, length) <= 0))
		return 0;
	return refuse(look, "found an integer above 2^53, expected a decimal string");
}

static int look_through(struct look *look)
{
	while (look->at < look->end) {
		int r = 0;

		if (*look->at == '"') {
			r = look_at_string(look);
		} else if (*look->at == '-' || (*look->at >= '0' && *look->at <= '9')) {
			r = look_at_number(look);
		} else {
			if (*look->at == '[' || *look->at == '{')
				look->depth++;
			if ((*look->at == ']' || *look->at == '}') && look->depth > 0)
				look->depth--;
			if (look->depth > JSON_DEPTH_MAX)
				return refuse(look, "found values nested too deep");
			look->at++;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds duplicate keys. Sorts the keys first, so that an object with very many keys needs O(n log n) steps,
 * not O(n^2). */
static int check_keys(const char *what, const cJSON *object, struct error *err)
{
	CLEANUP(free_ptr) const char **keys = NULL;
	size_t count = 0, i = 0;
	const cJSON *child;

	cJSON_ArrayForEach(child, object)
		count++;
	keys = calloc(count + 1, sizeof(*keys));
	if (!keys)
		return error_set(err, -ENOMEM, "%s: no memory for %zu keys", what, count);
	cJSON_ArrayForEach(child, object)
		keys[i++] = child->string;
	qsort(keys, count, sizeof(*keys), by_name);
	for (i = 1; i < count; i++)
		if (strcmp(keys[i - 1], keys[i]) == 0)
			return error_set(err, -EBADMSG, "%s: key \"%.100s\" is there twice", what, keys[i]);
	return 0;
}

static int check_tree(const char *what, const cJSON *item, struct error *err)
{
	const cJSON *child;
	int r = cJSON_IsObject(item) ? check_keys(what, item, err) : 0;

	if (r < 0)
		return r;
	cJSON_ArrayForEach(child, item) {
		r = check_tree(what, child, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int json_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_json, struct error *err)
{
	struct look look = { .what = what, .text = text, .at = text, .end = text + bytes, .err = err };
	CLEANUP(json_free) cJSON *json = NULL;
	const char *end = text;
	uint64_t valid;
	int r;

	if (bytes > JSON_BYTES_MAX)
		return error_set(err, -E2BIG, "%s: %" PRIu64 " bytes of JSON, at most %u", what, bytes,
				 JSON_BYTES_MAX);
	valid = utf8_valid_bytes(text, bytes);
	if (valid < bytes)
		return error_set(err, -EBADMSG, "%s: byte %" PRIu64 " is not UTF-8", what, valid);
	r = look_through(&look);
	if (r < 0)
		return r;
	errno = 0; /* cJSON does not tell what failed, but malloc() sets errno */
	json = cJSON_ParseWithLengthOpts(text, bytes, &end, false);
	if (!json && errno == ENOMEM)
		return error_set(err, -ENOMEM, "%s: no memory for its JSON", what);
	if (!json)
		return error_set(err, -EBADMSG, "%s: not JSON at byte %td", what, end - text);
	while (end < text + bytes && *end && strchr(" \t\r\n", *end))
		end++;
	if (end != text + bytes)
		return error_set(err, -EBADMSG, "%s: more text after the JSON value at byte %td", what,
				 end - text);
	r = check_tree(what, json, err);
	if (r < 0)
		return r;
	*ret_json = TAKE(json);
	return 0;
}

int json_read(const char *path, uint64_t max, cJSON **ret_json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = file_read(path, max, &text, &bytes, err);

	return r < 0 ? r : json_parse(path, text, bytes, ret_json, err);
}

/* ---- Printing ---- */

/* Makes all numbers print exactly. cJSON prints 15 digits where these are close to the number. Where 15
 * digits give another number when read again, the item is replaced by text with 17 digits. */
static bool keep_numbers(cJSON *item)
{
	char text[40];
	cJSON *child;

	if (cJSON_IsNumber(item) && isfinite(item->valuedouble)) {
		(void)snprintf(text, sizeof(text), "%.15g", item->valuedouble);
		if (strtod(text, NULL) != item->valuedouble) {
			(void)snprintf(text, sizeof(text), "%.17g", item->valuedouble);
			item->valuestring = cJSON_malloc(sizeof(text));
			if (!item->valuestring)
				return false;
			memcpy(item->valuestring, text, sizeof(text));
			item->type = cJSON_Raw;
		}
	}
	cJSON_ArrayForEach(child, item) {
		if (!keep_numbers(child))
			return false;
	}
	return true;
}

/* Returns a copy of the text in which the hidden characters that cJSON does not escape are escaped, and `end`
 * after it; NULL: no memory. */
static char *escape(const char *text, const char *end)
{
	char *copy = malloc(6 * strlen(text) + strlen(end) + 1), *to = copy;

	while (copy && *text) {
		uint32_t code = 0;
		const unsigned bytes = utf8_character(text, strnlen(text, 4), &code);

		if (bytes && (code < 0x20 || !visible_hides(code))) {
			memcpy(to, text, bytes);
			to += bytes;
		} else {
			to += sprintf(to, "\\u%04x", bytes ? code : 0xfffd);
		}
		text += bytes ? bytes : 1;
	}
	if (copy)
		memcpy(to, end, strlen(end) + 1);
	return copy;
}

static int print(const cJSON *json, char *(*print_with)(const cJSON *item), const char *end, char **ret_text,
		 struct error *err)
{
	CLEANUP(json_free) cJSON *copy = cJSON_Duplicate(json, true);
	CLEANUP(free_ptr) char *text = copy && keep_numbers(copy) ? print_with(copy) : NULL;
	char *escaped = text ? escape(text, end) : NULL;

	if (!escaped)
		return error_set(err, -ENOMEM, "no memory for JSON text");
	*ret_text = escaped;
	return 0;
}

int json_print(const cJSON *json, char **ret_text, struct error *err)
{
	return print(json, cJSON_Print, "", ret_text, err);
}

int json_print_line(const cJSON *json, char **ret_text, struct error *err)
{
	return print(json, cJSON_PrintUnformatted, "\n", ret_text, err);
}

/* ---- Printing as text ---- */

/* Gives a string that cJSON owns its visible form. */
static void show(char **text)
{
	const size_t size = VISIBLE_TIMES * (*text ? strlen(*text) : 0) + 1;
	char *shown;

	if (!*text || visible_is(*text))
		return;
	shown = cJSON_malloc(size);
	if (shown) {
		(void)visible(*text, shown, size);
		cJSON_free(*text);
		*text = shown;
	} else {
		**text = '\0';
	}
}

/* The recursion ends, because json_parse() limits the nesting depth. */
void json_visible(cJSON *json) // NOLINT(misc-no-recursion)
{
	cJSON *child;

	show(&json->string);
	show(&json->valuestring);
	cJSON_ArrayForEach(child, json)
		json_visible(child);
}

/* ---- Members ---- */

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

int json_copy_string(const char *what, const cJSON *object, const char *key, char *out, size_t size,
		     struct error *err)
{
	const char *text = NULL;
	int r = json_get_string(what, object, key, &text, err);

	if (r < 0)
		return r;
	if (strlen(text) >= size)
		return error_set(err, -EBADMSG, "%s: \"%s\": found %zu bytes, expected at most %zu", what,
				 key, strlen(text), size - 1);
	(void)snprintf(out, size, "%s", text);
	return 0;
}

int json_get_u64(const char *what, const cJSON *object, const char *key, uint64_t *ret, struct error *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
	unsigned long long value;
	char *end;

	if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= (double)INTEGER_MAX &&
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

	if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
		return wrong(what, key, item, "a finite number", err);
	*ret = item->valuedouble;
	return 0;
}

const cJSON *json_member(const cJSON *object, const char *path)
{
	char key[64];

	while (object && *path) {
		size_t length = strcspn(path, ".");

		(void)snprintf(key, sizeof(key), "%.*s", (int)length, path);
		object = cJSON_GetObjectItemCaseSensitive(object, key);
		path += length + (path[length] == '.');
	}
	return object;
}

double json_number(const cJSON *object, const char *path, double otherwise)
{
	const cJSON *item = json_member(object, path);

	return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

cJSON *json_string(const char *text)
{
	CLEANUP(free_ptr) char *repaired = utf8_repaired(text, strlen(text));

	return repaired ? cJSON_CreateString(repaired) : NULL;
}

void json_insert_before(cJSON *array, cJSON *item, cJSON *next)
{
	(void)cJSON_AddItemToArray(array, item);
	while (next && next != item) {
		cJSON *after = next->next;

		(void)cJSON_AddItemToArray(array, cJSON_DetachItemViaPointer(array, next));
		next = after;
	}
}

bool json_add_u64(cJSON *object, const char *key, uint64_t value)
{
	char text[24];

	if (value <= INTEGER_MAX)
		return cJSON_AddNumberToObject(object, key, (double)value) != NULL;
	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return cJSON_AddStringToObject(object, key, text) != NULL;
}
