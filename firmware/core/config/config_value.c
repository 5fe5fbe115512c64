/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/url.h"
#include "core/base/visible.h"
#include "core/config/config_reading.h"

#include <inttypes.h>
#include <string.h>

const char *config_type_name(const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return "an integer";
	case CONFIG_TYPE_FLOAT:
		return "a number";
	case CONFIG_TYPE_STRING:
		return "a string";
	case CONFIG_TYPE_BOOL:
		return "a truth value";
	case CONFIG_TYPE_GROUP:
		return "a group";
	default:
		return "a list";
	}
}

const char *config_found(const config_setting_t *setting, char *out, size_t size)
{
	char shown[101], clean[sizeof(shown)];
	const char *text;

	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		(void)snprintf(out, size, "%lld", config_setting_get_int64(setting));
		break;
	case CONFIG_TYPE_FLOAT:
		(void)snprintf(out, size, "%g", config_setting_get_float(setting));
		/* Print the float 3.0 as "3.0" and not "3", so that the reader sees why it is refused in the
		 * place of an integer. */
		if (!strpbrk(out, ".en"))
			(void)snprintf(out, size, "%.1f", config_setting_get_float(setting));
		break;
	case CONFIG_TYPE_STRING:
		text = config_setting_get_string(setting);
		(void)url_without_login(text, strlen(text), clean, sizeof(clean));
		(void)snprintf(out, size, "\"%s\"", visible(clean, shown, sizeof(shown)));
		break;
	case CONFIG_TYPE_BOOL:
		(void)snprintf(out, size, "%s", config_setting_get_bool(setting) ? "true" : "false");
		break;
	case CONFIG_TYPE_GROUP:
		(void)snprintf(out, size, "a group");
		break;
	default:
		(void)snprintf(out, size, "a list of %d", config_setting_length(setting));
		break;
	}
	return out;
}

/* ---- One value ---- */

static bool store_string(const struct config_key *key, const config_setting_t *setting, void *target)
{
	const char *text;

	if (config_setting_type(setting) != CONFIG_TYPE_STRING)
		return false;
	text = config_setting_get_string(setting);
	if (key->type == KEY_ENUM) {
		for (int i = 0; i < CONFIG_WORDS_MAX && key->names[i]; i++)
			if (strcmp(text, key->names[i]) == 0) {
				memcpy(target, &i, sizeof(i));
				return true;
			}
		return false;
	}
	if (!config_string_allowed(key, text))
		return false;
	memcpy(target, &text, sizeof(text));
	return true;
}

static bool store_integer(const struct config_key *key, const config_setting_t *setting, void *target)
{
	long long value = config_setting_get_int64(setting);

	/* Compare integers: a double cannot tell 2^53 from 2^53 + 1. */
	if (value < (long long)key->min || value > (long long)key->max)
		return false;
	memcpy(target, &value, sizeof(value));
	return true;
}

static bool store_number(const struct config_key *key, const config_setting_t *setting, void *target)
{
	int type = config_setting_type(setting);
	bool integer = type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
	double value;

	if (!integer && (type != CONFIG_TYPE_FLOAT || key->type == KEY_INT))
		return false;
	if (key->type == KEY_INT)
		return store_integer(key, setting, target);
	value = integer ? (double)config_setting_get_int64(setting) : config_setting_get_float(setting);
	if (!(value >= key->min && value <= key->max))
		return false;
	memcpy(target, &value, sizeof(value));
	return true;
}

static bool store_value(const struct config_key *key, const config_setting_t *setting, void *target)
{
	bool truth;

	switch (key->type) {
	case KEY_INT:
	case KEY_FLOAT:
		return store_number(key, setting, target);
	case KEY_BOOL:
		if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
			return false;
		truth = config_setting_get_bool(setting);
		memcpy(target, &truth, sizeof(truth));
		return true;
	default:
		return store_string(key, setting, target);
	}
}

/* Stores a list of numbers. Each number must be within the bounds of the row. An empty list [ ] is
 * allowed. */
static bool store_numbers(struct config_memory *memory, const struct config_key *key,
			  const config_setting_t *setting, void *target)
{
	const int count = config_setting_length(setting);
	struct config_numbers numbers = { .at = &memory->number[memory->numbers] };
	const struct config_key one = { .type = KEY_FLOAT, .min = key->min, .max = key->max };

	if (config_setting_type(setting) != CONFIG_TYPE_ARRAY ||
	    (uint32_t)count > CONFIG_NUMBERS_MAX - memory->numbers)
		return false;
	for (; numbers.count < (uint32_t)count; numbers.count++)
		if (!store_number(&one, config_setting_get_elem(setting, numbers.count),
				  &memory->number[memory->numbers + numbers.count]))
			return false;
	memory->numbers += numbers.count;
	memcpy(target, &numbers, sizeof(numbers));
	return true;
}

static bool store(struct config_reading *reading, const struct config_key *key,
		  const config_setting_t *setting, void *target)
{
	return key->type == KEY_NUMBERS ? store_numbers(reading->config->memory, key, setting, target)
					: store_value(key, setting, target);
}

/* Tells whether the value names a credential. A refused one is not shown: it may be the secret itself. */
static bool names_credential(const struct config_key *key)
{
	static const char word[] = "credential";
	const size_t bytes = strlen(key->name), tail = strlen(word);

	return bytes >= tail && strcmp(key->name + bytes - tail, word) == 0;
}

void config_read_value(struct config_reading *reading, const struct config_key *key,
		       const config_setting_t *setting, void *base)
{
	char allowed[256], found[128];

	if (store(reading, key, setting, (char *)base + key->offset))
		return;
	config_allowed(key, allowed, sizeof(allowed));
	mistakes_add(reading->mistakes, config_setting_source_line(setting), "%s%s: found %s, allowed: %s",
		     strchr(key->name, '.') ? "" : reading->list, key->name,
		     names_credential(key) ? "a value that may be a secret"
					   : config_found(setting, found, sizeof(found)),
		     allowed);
}

void config_read_fallback(const struct config_key *key, void *base)
{
	void *target = (char *)base + key->offset;
	const char *text = key->fallback;
	double number;
	uint64_t whole;
	bool truth;

	switch (key->type) {
	case KEY_INT:
		whole = strtoull(text, NULL, 10);
		memcpy(target, &whole, sizeof(whole));
		break;
	case KEY_FLOAT:
		number = strtod(text, NULL);
		memcpy(target, &number, sizeof(number));
		break;
	case KEY_BOOL:
		truth = strcmp(text, "true") == 0;
		memcpy(target, &truth, sizeof(truth));
		break;
	case KEY_ENUM:
		for (int i = 0; i < CONFIG_WORDS_MAX && key->names[i]; i++)
			if (strcmp(text, key->names[i]) == 0)
				memcpy(target, &i, sizeof(i));
		break;
	case KEY_NUMBERS:
		memset(target, 0, sizeof(struct config_numbers));
		break;
	default:
		memcpy(target, &text, sizeof(text));
		break;
	}
}

const struct config_key *config_find_key(const struct config_key *keys, size_t count, const char *group,
					 const char *name)
{
	char full[128];

	(void)snprintf(full, sizeof(full), "%s%s%s", group, *group ? "." : "", name);
	for (size_t i = 0; i < count; i++)
		if (strcmp(keys[i].name, full) == 0)
			return &keys[i];
	return NULL;
}

unsigned config_line(const struct config *config, const char *key)
{
	const config_setting_t *found;
	char group[64];

	if (!config->memory)
		return 1;
	(void)snprintf(group, sizeof(group), "%.*s", (int)strcspn(key, "."), key);
	found = config_lookup(&config->memory->file, key);
	if (!found)
		found = config_lookup(&config->memory->file, group);
	return found ? config_setting_source_line(found) : 1;
}
