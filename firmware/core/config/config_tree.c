/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_tree.h"
#include "core/base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Copies ---- */

static bool copy_scalar(config_setting_t *to, const config_setting_t *from)
{
	switch (config_setting_type(from)) {
	case CONFIG_TYPE_INT:
		return config_setting_set_int(to, config_setting_get_int(from));
	case CONFIG_TYPE_INT64:
		return config_setting_set_int64(to, config_setting_get_int64(from));
	case CONFIG_TYPE_FLOAT:
		return config_setting_set_float(to, config_setting_get_float(from));
	case CONFIG_TYPE_BOOL:
		return config_setting_set_bool(to, config_setting_get_bool(from));
	default:
		return config_setting_set_string(to, config_setting_get_string(from));
	}
}

config_setting_t *config_tree_copy(config_setting_t *parent, const char *name, const config_setting_t *from)
{
	config_setting_t *to = config_setting_add(parent, name, config_setting_type(from));

	if (!to)
		return NULL;
	to->line = from->line;
	if (!config_setting_is_aggregate(from))
		return copy_scalar(to, from) ? to : NULL;
	for (int i = 0; i < config_setting_length(from); i++) {
		const config_setting_t *element = config_setting_get_elem(from, (unsigned)i);

		if (!config_tree_copy(to, config_setting_name(element), element))
			return NULL;
	}
	return to;
}

/* ---- JSON ---- */

static bool is_whole(const cJSON *json)
{
	return cJSON_IsNumber(json) && json->valuedouble >= -9007199254740992.0 &&
	       json->valuedouble <= 9007199254740992.0 &&
	       json->valuedouble == (double)(int64_t)json->valuedouble;
}

static int type_of_number(const cJSON *json)
{
	if (!is_whole(json))
		return CONFIG_TYPE_FLOAT;
	return json->valuedouble >= INT32_MIN && json->valuedouble <= INT32_MAX ? CONFIG_TYPE_INT
										: CONFIG_TYPE_INT64;
}

/* Returns the type that all elements of an array can have; CONFIG_TYPE_NONE: none. */
static int type_of_elements(const cJSON *json)
{
	int type = CONFIG_TYPE_NONE;
	const cJSON *element;

	cJSON_ArrayForEach(element, json) {
		const int own = cJSON_IsNumber(element)   ? type_of_number(element)
				: cJSON_IsBool(element)   ? CONFIG_TYPE_BOOL
				: cJSON_IsString(element) ? CONFIG_TYPE_STRING
							  : CONFIG_TYPE_NONE;
		const bool numbers = own >= CONFIG_TYPE_INT && own <= CONFIG_TYPE_FLOAT &&
				     type >= CONFIG_TYPE_INT && type <= CONFIG_TYPE_FLOAT;

		if (own == CONFIG_TYPE_NONE || (type != CONFIG_TYPE_NONE && own != type && !numbers))
			return CONFIG_TYPE_NONE;
		type = numbers && own < type ? type : own;
	}
	return type;
}

static int type_of(const cJSON *json)
{
	if (cJSON_IsObject(json))
		return CONFIG_TYPE_GROUP;
	if (cJSON_IsArray(json))
		return !json->child || type_of_elements(json) != CONFIG_TYPE_NONE ? CONFIG_TYPE_ARRAY
										  : CONFIG_TYPE_LIST;
	return cJSON_IsNumber(json)   ? type_of_number(json)
	       : cJSON_IsBool(json)   ? CONFIG_TYPE_BOOL
	       : cJSON_IsString(json) ? CONFIG_TYPE_STRING
				      : CONFIG_TYPE_NONE;
}

static bool set_json(config_setting_t *to, const cJSON *json)
{
	switch (config_setting_type(to)) {
	case CONFIG_TYPE_INT:
		return config_setting_set_int(to, (int)json->valuedouble);
	case CONFIG_TYPE_INT64:
		return config_setting_set_int64(to, (long long)json->valuedouble);
	case CONFIG_TYPE_FLOAT:
		return config_setting_set_float(to, json->valuedouble);
	case CONFIG_TYPE_BOOL:
		return config_setting_set_bool(to, cJSON_IsTrue(json));
	default:
		return config_setting_set_string(to, cJSON_GetStringValue(json));
	}
}

/* `type`: the type of the setting; in an array the type of all elements. */
static config_setting_t *add_json(config_setting_t *parent, const char *name, const cJSON *json, int type,
				  unsigned line)
{
	config_setting_t *to = type == CONFIG_TYPE_NONE ? NULL : config_setting_add(parent, name, type);
	const int elements = type == CONFIG_TYPE_ARRAY ? type_of_elements(json) : CONFIG_TYPE_NONE;
	const cJSON *element;

	if (!to)
		return NULL;
	to->line = line;
	if (!config_setting_is_aggregate(to))
		return set_json(to, json) ? to : NULL;
	cJSON_ArrayForEach(element, json)
		if (!add_json(to, type == CONFIG_TYPE_GROUP ? element->string : NULL, element,
			      elements == CONFIG_TYPE_NONE ? type_of(element) : elements, line))
			return NULL;
	return to;
}

config_setting_t *config_tree_add_json(config_setting_t *parent, const char *name, const cJSON *json,
				       unsigned line)
{
	return add_json(parent, name, json, type_of(json), line);
}

cJSON *config_tree_json(const config_setting_t *setting)
{
	const int type = config_setting_type(setting);
	cJSON *json;

	switch (type) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return cJSON_CreateNumber((double)config_setting_get_int64(setting));
	case CONFIG_TYPE_FLOAT:
		return cJSON_CreateNumber(config_setting_get_float(setting));
	case CONFIG_TYPE_BOOL:
		return cJSON_CreateBool(config_setting_get_bool(setting));
	case CONFIG_TYPE_STRING:
		return json_string(config_setting_get_string(setting));
	default:
		break;
	}
	json = type == CONFIG_TYPE_GROUP ? cJSON_CreateObject() : cJSON_CreateArray();
	for (int i = 0; i < config_setting_length(setting); i++) {
		const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

		if (type == CONFIG_TYPE_GROUP)
			(void)cJSON_AddItemToObject(json, config_setting_name(element),
						    config_tree_json(element));
		else
			(void)cJSON_AddItemToArray(json, config_tree_json(element));
	}
	return json;
}

/* ---- Text ---- */

void config_print_integer(FILE *out, int64_t value)
{
	fprintf(out, "%" PRId64 "%s", value, value > INT32_MAX || value < INT32_MIN ? "L" : "");
}

void config_print_float(FILE *out, double value)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void config_print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; text && *text; text++)
		fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
	fputc('"', out);
}

/* Prints the settings of a group, list or array between its brackets. */
static void print_aggregate(FILE *out, const config_setting_t *setting)
{
	const bool group = config_setting_is_group(setting);
	const int length = config_setting_length(setting);

	fputs(group ? "{ " : config_setting_is_list(setting) ? "( " : "[ ", out);
	for (int i = 0; i < length; i++) {
		const config_setting_t *element = config_setting_get_elem(setting, (unsigned)i);

		if (group)
			fprintf(out, "%s = ", config_setting_name(element));
		config_tree_print(out, element);
		fputs(group ? "; " : i + 1 < length ? ", " : " ", out);
	}
	fputs(group ? "}" : config_setting_is_list(setting) ? ")" : "]", out);
}

void config_tree_print(FILE *out, const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		config_print_integer(out, config_setting_get_int64(setting));
		break;
	case CONFIG_TYPE_FLOAT:
		config_print_float(out, config_setting_get_float(setting));
		break;
	case CONFIG_TYPE_BOOL:
		fputs(config_setting_get_bool(setting) ? "true" : "false", out);
		break;
	case CONFIG_TYPE_STRING:
		config_print_string(out, config_setting_get_string(setting));
		break;
	default:
		print_aggregate(out, setting);
		break;
	}
}
