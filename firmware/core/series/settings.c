/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/settings.h"

#include "core/config/config.h"
#include "core/config/config_held.h"

#include <string.h>

#define KEY_BYTES 256u

/* ---- From a configuration to one object ---- */

static bool add_copy(cJSON *settings, const char *key, const cJSON *value)
{
	return cJSON_AddItemToObject(settings, key, cJSON_Duplicate(value, true));
}

/* Writes the name of an element of a list: its own, else of a layer its op with a number where an earlier
 * layer has the same op, else its number in the list. */
static void name_element(const cJSON *element, int number, char *out, size_t size)
{
	const char *name = cJSON_GetStringValue(json_member(element, "name")),
		   *op = cJSON_GetStringValue(json_member(element, "op"));
	unsigned same = 0;

	for (const cJSON *before = element; op && number > 1; number--) {
		const char *other = cJSON_GetStringValue(json_member(before = before->prev, "op"));

		same += other && strcmp(other, op) == 0;
	}
	if (name)
		(void)snprintf(out, size, "%s", name);
	else if (op && same)
		(void)snprintf(out, size, "%s_%u", op, same);
	else if (op)
		(void)snprintf(out, size, "%s", op);
	else
		(void)snprintf(out, size, "%d", number);
}

static bool add_element(cJSON *settings, const char *key, const char *name, const cJSON *element)
{
	const cJSON *value;
	bool good = true;

	cJSON_ArrayForEach(value, element) {
		char dotted[2 * KEY_BYTES];

		(void)snprintf(dotted, sizeof(dotted), "%s.%s.%s", key, name, value->string);
		if (strcmp(value->string, "name") != 0)
			good = good && add_copy(settings, dotted, value);
	}
	return good;
}

static bool add_list(cJSON *settings, const char *key, const cJSON *list)
{
	cJSON *names = cJSON_AddArrayToObject(settings, key);
	const cJSON *element;
	bool good = names;
	int number = 0;

	cJSON_ArrayForEach(element, list) {
		char name[KEY_BYTES];

		name_element(element, ++number, name, sizeof(name));
		good = good && cJSON_AddItemToArray(names, json_string(name)) &&
		       add_element(settings, key, name, element);
	}
	return good;
}

/* The lists of config_show_json(). Its members experiments and vary are no settings of a run. */
static const struct {
	const char *member, *key;
} lists[] = { { "layers", "model.layers" }, { "schema", "schema" }, { "sources", "sources" } };

/* Copies the members of config_show_json(). */
static bool add_all(cJSON *settings, const cJSON *shown)
{
	const cJSON *item;
	bool good = settings;

	cJSON_ArrayForEach(item, shown)
		if (json_member(item, "value"))
			good = good && add_copy(settings, item->string, json_member(item, "value"));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if ((item = json_member(shown, lists[i].member)))
			good = good && add_list(settings, lists[i].key, item);
	return good;
}

int settings_of(const char *config_text, cJSON **ret_settings, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *shown = NULL, *settings = cJSON_CreateObject();
	char path[CONFIG_HELD_BYTES];
	int r;

	if ((fd = config_hold(config_text, path, err)) < 0)
		return fd;
	if ((r = config_show_json(path, &text, err)) < 0 ||
	    (r = json_parse("configuration", text, strlen(text), &shown, err)) < 0)
		return r;
	if (!add_all(settings, shown))
		return error_set(err, -ENOMEM, "no memory for the settings of a run");
	*ret_settings = TAKE(settings);
	return 0;
}

/* ---- Differences ---- */

static bool add_difference(cJSON *list, const char *key, const cJSON *a, const cJSON *b)
{
	cJSON *row = cJSON_CreateObject();

	return cJSON_AddItemToArray(list, row) && cJSON_AddItemToObject(row, "key", json_string(key)) &&
	       cJSON_AddItemToObject(row, "a", a ? cJSON_Duplicate(a, true) : cJSON_CreateNull()) &&
	       cJSON_AddItemToObject(row, "b", b ? cJSON_Duplicate(b, true) : cJSON_CreateNull());
}

cJSON *settings_differ(const cJSON *a, const cJSON *b)
{
	CLEANUP(json_free) cJSON *list = cJSON_CreateArray();
	const cJSON *item, *other;
	bool good = list;

	cJSON_ArrayForEach(item, a) {
		other = cJSON_GetObjectItemCaseSensitive(b, item->string);
		if (!other || !cJSON_Compare(item, other, true))
			good = good && add_difference(list, item->string, item, other);
	}
	cJSON_ArrayForEach(item, b)
		if (!cJSON_GetObjectItemCaseSensitive(a, item->string))
			good = good && add_difference(list, item->string, NULL, item);
	return good ? TAKE(list) : NULL;
}

/* ---- Text ---- */

/* Prints a number with digits that give the same number again. */
static void print_number(double value, FILE *out)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		(void)snprintf(text, sizeof(text), "%.17g", value);
	fputs(text, out);
}

static void print_value(const cJSON *value, FILE *out)
{
	const cJSON *item;

	if (cJSON_IsNumber(value)) {
		print_number(value->valuedouble, out);
	} else if (cJSON_IsString(value)) {
		fputs(*value->valuestring ? value->valuestring : "\"\"", out);
	} else if (cJSON_IsBool(value)) {
		fputs(cJSON_IsTrue(value) ? "true" : "false", out);
	} else if (cJSON_IsArray(value)) {
		fputs("[", out);
		cJSON_ArrayForEach(item, value) {
			fputs(item == value->child ? "" : ", ", out);
			if (cJSON_IsArray(item)) /* no setting has lists of lists, only a damaged record */
				fputs("...", out);
			else
				print_value(item, out);
		}
		fputs("]", out);
	} else if (cJSON_IsObject(value)) {
		const char *name = cJSON_GetStringValue(json_member(value, "name")),
			   *op = cJSON_GetStringValue(json_member(value, "op"));

		fputs(name ? name : op ? op : "...", out);
	} else {
		fputs("-", out);
	}
}

char *setting_text(const cJSON *value)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	print_value(value, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
