/* SPDX-License-Identifier: Apache-2.0 */
/* Words that describe the allowed values of a key, for mistakes and for the reference. */
#include "core/config/cidr.h"
#include "core/config/config_keys.h"
#include "core/config/filter.h"

#include <stdio.h>

static size_t allowed_names(const struct config_key *key, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "one of");

	for (size_t i = 0; i < CONFIG_WORDS_MAX && key->names[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s \"%s\"", i ? "," : "", key->names[i]);
	return used;
}

static void allowed_location(enum key_type type, char *out, size_t size)
{
	if (type == KEY_URL)
		(void)snprintf(out, size,
			       "s3://bucket[/prefix], file:///folder or "
			       "lakefs://repository/branch[/prefix]; a bucket has 3 .. %u characters of "
			       "[A-Za-z0-9._-]",
			       CONFIG_BUCKET_MAX);
	else if (type == KEY_ENDPOINT)
		(void)snprintf(out, size, "https://host[:port], http://host[:port], or nothing");
	else if (type == KEY_RELAY)
		(void)snprintf(out, size, "smtp://host[:port], smtps://host[:port], or nothing");
	else
		(void)snprintf(out, size,
			       "https://host[:port][/path], http://host[:port][/path], without user and "
			       "password, or nothing");
}

static void allowed_time(const struct config_key *key, char *out, size_t size)
{
	if (key->type == KEY_DAYS)
		(void)snprintf(out, size, "days and ranges of them such as \"mon..fri,sun\", or \"none\"");
	else if (key->type == KEY_ZONE)
		(void)snprintf(out, size, "a zone of /usr/share/zoneinfo such as \"Europe/Berlin\"");
	else
		(void)snprintf(out, size, "\"HH:MM\", 00:00 .. 23:59%s",
			       key->fallback && !*key->fallback ? ", or nothing" : "");
}

void config_allowed(const struct config_key *key, char *out, size_t size)
{
	switch (key->type) {
	case KEY_INT:
		(void)snprintf(out, size, "an integer, %.0f .. %.0f", key->min, key->max);
		break;
	case KEY_FLOAT:
		(void)snprintf(out, size, "a number, %g .. %g", key->min, key->max);
		break;
	case KEY_BOOL:
		(void)snprintf(out, size, "true or false");
		break;
	case KEY_STRING:
		(void)snprintf(out, size, "a string without control characters");
		break;
	case KEY_NAME:
		(void)snprintf(out, size, "1 .. 64 characters of [A-Za-z0-9_-]%s",
			       key->fallback && !*key->fallback ? ", or nothing" : "");
		break;
	case KEY_URL:
	case KEY_ENDPOINT:
	case KEY_RELAY:
	case KEY_WEB:
		allowed_location(key->type, out, size);
		break;
	case KEY_MAIL:
		(void)snprintf(
			out, size,
			"mail addresses name@host, a comma between two, at most %d characters, or nothing",
			CONFIG_MAIL_MAX);
		break;
	case KEY_REGION:
		(void)snprintf(out, size, "1 .. %u characters of [a-z0-9_-]", CONFIG_REGION_MAX);
		break;
	case KEY_CPUS:
		(void)snprintf(out, size, "\"auto\" or a CPU list such as \"0-3,8\"");
		break;
	case KEY_DAYS:
	case KEY_TIME:
	case KEY_ZONE:
		allowed_time(key, out, size);
		break;
	case KEY_HOSTS:
		(void)snprintf(
			out, size,
			"host names of [A-Za-z0-9.-] and addresses, one space between them, or nothing");
		break;
	case KEY_NETWORK:
		(void)snprintf(out, size, "%s, or nothing", CIDR_ALLOWED);
		break;
	case KEY_FILTER:
		(void)snprintf(out, size, "%s, or nothing", FILTER_ALLOWED);
		break;
	case KEY_ENUM:
		(void)allowed_names(key, out, size);
		break;
	case KEY_NUMBERS:
		(void)snprintf(out, size, "a list [ ] of numbers, %g .. %g", key->min, key->max);
		break;
	}
}
