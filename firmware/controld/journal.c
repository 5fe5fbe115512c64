/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"

#include <inttypes.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define LINES_DEFAULT 50u
#define FIELD_MAX     4096u /* bytes that are shown of a field */
#define FIELDS_MAX    32
#define TAIL_MAX      (3u << 20) /* bytes of messages in one answer */

void journal_closep(struct sd_journal **journal)
{
	if (*journal)
		sd_journal_close(*journal);
	*journal = NULL;
}

/* What a unit said, or systemd about it. Below KILN_ROOT nothing is a unit: there the program's name counts.
 */
static int match_unit(sd_journal *journal, const char *unit, size_t length, bool below_root)
{
	char match[96];
	int r;

	if (below_root || strncmp(unit, "steer", length) == 0) {
		(void)snprintf(match, sizeof(match), "SYSLOG_IDENTIFIER=kiln-%.*s", (int)length, unit);
		if ((r = sd_journal_add_match(journal, match, 0)) < 0)
			return r;
		/* kiln-steer@N.service has as many names as calls; root alone may take its name. */
		if (!below_root && (r = sd_journal_add_match(journal, "_UID=0", 0)) < 0)
			return r;
		return sd_journal_add_disjunction(journal);
	}
	(void)snprintf(match, sizeof(match), "_SYSTEMD_UNIT=kiln-%.*s.service", (int)length, unit);
	if ((r = sd_journal_add_match(journal, match, 0)) < 0 ||
	    (r = sd_journal_add_disjunction(journal)) < 0)
		return r;
	(void)snprintf(match, sizeof(match), "UNIT=kiln-%.*s.service", (int)length, unit);
	if ((r = sd_journal_add_match(journal, match, 0)) < 0 ||
	    (r = sd_journal_add_match(journal, "_PID=1", 0)) < 0)
		return r;
	return sd_journal_add_disjunction(journal);
}

static int match_units(sd_journal *journal, const char *units, bool below_root)
{
	int r = 0;

	while (r >= 0 && *units) {
		size_t length = strcspn(units, "|");

		r = match_unit(journal, units, length, below_root);
		units += length + (units[length] == '|');
	}
	return r;
}

int journal_open(const char *unit, struct sd_journal **ret_journal, struct error *err)
{
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	const char *root = getenv("KILN_ROOT");
	bool below_root = root && *root;
	char folder[4096];
	int r;

	(void)snprintf(folder, sizeof(folder), "%s/var/log/journal", below_root ? root : "");
	r = below_root ? sd_journal_open_directory(&journal, folder, 0)
		       : sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
	if (r >= 0)
		r = match_units(journal, unit ? unit : CONTROL_UNITS, below_root);
	if (r < 0)
		return error_set(err, r, "the journal cannot be read: %s", strerror(-r));
	*ret_journal = TAKE(journal);
	return 0;
}

/* ---- One entry ---- */

/* A field's value; NULL: there is none. The caller frees. */
static char *field_of(sd_journal *journal, const char *name)
{
	size_t length, skip = strlen(name) + 1;
	const void *data;

	if (sd_journal_get_data(journal, name, &data, &length) < 0 || length < skip)
		return NULL;
	length -= skip;
	return strndup((const char *)data + skip, length > FIELD_MAX ? FIELD_MAX : length);
}

static void add_field(cJSON *object, const char *key, sd_journal *journal, const char *name)
{
	CLEANUP(free_ptr) char *value = field_of(journal, name);

	(void)cJSON_AddItemToObject(object, key, value ? json_string(value) : cJSON_CreateNull());
}

static void add_unit(cJSON *object, sd_journal *journal)
{
	static const char *const names[] = { "UNIT", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER" };
	CLEANUP(free_ptr) char *value = NULL;
	char *dot;

	for (size_t i = 0; !value && i < sizeof(names) / sizeof(names[0]); i++)
		value = field_of(journal, names[i]);
	if (value && (dot = strstr(value, ".service")) && !dot[strlen(".service")])
		*dot = '\0';
	(void)cJSON_AddItemToObject(object, "unit", value ? json_string(value) : cJSON_CreateNull());
}

/* What the program gave besides: names in capitals, not the journal's own. */
static void add_fields(cJSON *object, sd_journal *journal)
{
	static const char *const known[] = { "MESSAGE", "MESSAGE_ID", "PRIORITY",  "SYSLOG_IDENTIFIER",
					     "UNIT",    "CODE_FILE",  "CODE_LINE", "CODE_FUNC" };
	cJSON *fields = cJSON_AddObjectToObject(object, "fields");
	const void *data;
	size_t length;
	int count = 0;

	SD_JOURNAL_FOREACH_DATA(journal, data, length)
	{
		const char *text = data, *sign = memchr(text, '=', length);
		CLEANUP(free_ptr) char *name = sign ? strndup(text, (size_t)(sign - text)) : NULL;
		bool own = name && *name != '_' && count < FIELDS_MAX;

		for (size_t i = 0; own && i < sizeof(known) / sizeof(known[0]); i++)
			own = strcmp(name, known[i]) != 0;
		if (!own || cJSON_HasObjectItem(fields, name))
			continue;
		add_field(fields, name, journal, name);
		count++;
	}
}

cJSON *journal_entry(struct sd_journal *journal, bool with_fields)
{
	CLEANUP(free_ptr) char *cursor = NULL, *priority = field_of(journal, "PRIORITY");
	cJSON *object = cJSON_CreateObject();
	uint64_t time_us = 0;

	if (!object || sd_journal_get_cursor(journal, &cursor) < 0 ||
	    sd_journal_get_realtime_usec(journal, &time_us) < 0) {
		cJSON_Delete(object);
		return NULL;
	}
	(void)json_add_u64(object, "time_us", time_us);
	add_unit(object, journal);
	if (priority && *priority >= '0' && *priority <= '7' && !priority[1])
		(void)cJSON_AddNumberToObject(object, "priority", *priority - '0');
	else
		(void)cJSON_AddNullToObject(object, "priority");
	add_field(object, "message", journal, "MESSAGE");
	(void)cJSON_AddStringToObject(object, "cursor", cursor);
	if (with_fields) {
		add_field(object, "message_id", journal, "MESSAGE_ID");
		add_fields(object, journal);
	}
	return object;
}

/* ---- The newest lines ---- */

static bool is_grave_enough(sd_journal *journal, uint64_t priority)
{
	CLEANUP(free_ptr) char *text = field_of(journal, "PRIORITY");

	return priority >= 7 || (text && *text >= '0' && *text <= '7' && (uint64_t)(*text - '0') <= priority);
}

int journal_tail(const char *unit, uint64_t lines, uint64_t priority, cJSON **ret_entries, struct error *err)
{
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	cJSON *entries;
	size_t looked = 0, bytes = 0;
	uint64_t found = 0;
	int r = journal_open(unit, &journal, err);

	if (r < 0)
		return r;
	entries = cJSON_CreateArray();
	if (!entries || sd_journal_seek_tail(journal) < 0) {
		cJSON_Delete(entries);
		return error_set(err, -EIO, "the journal cannot be read");
	}
	/* Bounded also where nothing is grave enough: a day of lines, not a year. */
	while (found < lines && looked++ < 20000 && bytes < TAIL_MAX && sd_journal_previous(journal) > 0) {
		cJSON *entry = is_grave_enough(journal, priority) ? journal_entry(journal, false) : NULL;
		const char *message;

		if (!entry)
			continue;
		message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "message"));
		bytes += 512 + (message ? strlen(message) : 0);
		(void)cJSON_InsertItemInArray(entries, 0, entry);
		found++;
	}
	*ret_entries = entries;
	return 0;
}

int method_log_tail(struct call *call, struct error *err)
{
	cJSON *entries = NULL;
	int r = journal_tail(control_text(&call->request, "unit", NULL),
			     control_integer(&call->request, "lines", LINES_DEFAULT),
			     control_integer(&call->request, "priority", 7), &entries, err);

	if (r < 0) {
		call->code = CONTROL_UNAVAILABLE;
		return r;
	}
	call->result = cJSON_CreateObject();
	return cJSON_AddItemToObject(call->result, "entries", entries) ? 0
								       : error_set(err, -ENOMEM, "no memory");
}
