/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/entries.h"
#include "controld/status/figure.h"

#include <string.h>
#include <systemd/sd-journal.h>

#define LOOKED_MAX 20000u     /* journal entries read for one answer, also those that cannot be used */
#define TAIL_MAX   (3u << 20) /* bytes of messages in one answer */

/* ---- One entry ---- */

static void add_field(cJSON *object, const char *key, sd_journal *journal, const char *name)
{
	CLEANUP(free_ptr) char *value = journal_field(journal, name);

	figure_text(object, key, value);
}

static void add_unit(cJSON *object, sd_journal *journal)
{
	static const char *const names[] = { "UNIT", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER" };
	CLEANUP(free_ptr) char *value = NULL;
	char *dot;

	for (size_t i = 0; !value && i < sizeof(names) / sizeof(names[0]); i++)
		value = journal_field(journal, names[i]);
	if (value && (dot = strstr(value, ".service")) && !dot[strlen(".service")])
		*dot = '\0';
	figure_text(object, "unit", value);
}

/* Adds a field under the name and with the type of the table of events: a forged journal entry cannot add
 * other fields. */
static bool add_event_field(cJSON *object, const struct event_field *field, const char *value)
{
	char *end;

	if (field->type == EVENT_TEXT)
		return cJSON_AddItemToObject(object, field->name, json_string(value));
	if (field->type == EVENT_COUNT)
		return json_add_u64(object, field->name, strtoull(value, &end, 10));
	return cJSON_AddNumberToObject(object, field->name, strtod(value, &end));
}

static void add_event_fields(cJSON *object, sd_journal *journal, const struct event_row *row)
{
	cJSON *fields = cJSON_AddObjectToObject(object, "fields");

	for (size_t i = 0; i < event_fields_count; i++) {
		CLEANUP(free_ptr)
		char *value = row->fields & 1u << i ? journal_field(journal, event_fields[i].name) : NULL;

		if (value)
			(void)add_event_field(fields, &event_fields[i], value);
	}
}

static void add_event(cJSON *object, sd_journal *journal, bool with_fields)
{
	CLEANUP(free_ptr) char *message_id = journal_field(journal, "MESSAGE_ID");
	const struct event_row *row = message_id ? event_by_message_id(message_id) : NULL;

	(void)cJSON_AddItemToObject(object, "event",
				    row ? cJSON_CreateString(row->name) : cJSON_CreateNull());
	if (!row || !with_fields)
		return;
	(void)cJSON_AddStringToObject(object, "message_id", row->message_id);
	add_event_fields(object, journal, row);
}

cJSON *entries_object(struct sd_journal *journal, bool with_fields)
{
	CLEANUP(free_ptr) char *cursor = NULL, *priority = journal_field(journal, "PRIORITY");
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
	add_event(object, journal, with_fields);
	return object;
}

/* ---- The newest lines ---- */

int entries_tail(const struct journal_filter *filter, uint64_t lines, cJSON **ret_entries, struct error *err)
{
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	cJSON *entries;
	size_t looked = 0, bytes = 0;
	uint64_t found = 0;
	int r = journal_open(&journal, err);

	if (r < 0 || (r = journal_match(journal, filter, err)) < 0)
		return r;
	entries = cJSON_CreateArray();
	if (!entries || sd_journal_seek_tail(journal) < 0) {
		cJSON_Delete(entries);
		return error_set(err, -EIO, "the journal cannot be read");
	}
	while (found < lines && looked++ < LOOKED_MAX && bytes < TAIL_MAX &&
	       sd_journal_previous(journal) > 0) {
		cJSON *entry = entries_object(journal, filter->events);
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
