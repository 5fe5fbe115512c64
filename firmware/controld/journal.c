/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/controld.h"

#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define LINES_DEFAULT 50u
#define FIELD_MAX     4096u      /* bytes that are shown of a field */
#define LOOKED_MAX    20000u     /* entries, with those that cannot be read */
#define TAIL_MAX      (3u << 20) /* bytes of messages in one answer */

void journal_closep(struct sd_journal **journal)
{
	if (*journal)
		sd_journal_close(*journal);
	*journal = NULL;
}

static int add_match(sd_journal *journal, const char *format, ...) PRINTF(2, 3);

static int add_match(sd_journal *journal, const char *format, ...)
{
	char match[96];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(match, sizeof(match), format, args);
	va_end(args);
	return sd_journal_add_match(journal, match, 0);
}

/* What says so itself: root, and the group that our daemons have. Of a process that is gone by the time
 * journald asks which unit it was of, as oneshots are, and of kiln-steer@N.service, with as many names as
 * calls, nothing else tells. Below KILN_ROOT nothing is a unit. */
static int match_name(sd_journal *journal, const char *unit, int length, bool below_root)
{
	const struct group *group = below_root ? NULL : getgrnam("kiln"); // NOLINT(concurrency-mt-unsafe)
	int r;

	if ((r = add_match(journal, "SYSLOG_IDENTIFIER=kiln-%.*s", length, unit)) < 0 ||
	    (!below_root && (r = add_match(journal, "_UID=0")) < 0) ||
	    (r = sd_journal_add_disjunction(journal)) < 0 || !group)
		return r;
	if ((r = add_match(journal, "SYSLOG_IDENTIFIER=kiln-%.*s", length, unit)) < 0 ||
	    (r = add_match(journal, "_GID=%ju", (uintmax_t)group->gr_gid)) < 0)
		return r;
	return sd_journal_add_disjunction(journal);
}

/* What a unit said, or systemd about it. */
static int match_unit(sd_journal *journal, const char *unit, int length, bool below_root)
{
	int r = match_name(journal, unit, length, below_root);

	if (r < 0 || below_root)
		return r;
	if ((r = add_match(journal, "_SYSTEMD_UNIT=kiln-%.*s.service", length, unit)) < 0 ||
	    (r = sd_journal_add_disjunction(journal)) < 0 ||
	    (r = add_match(journal, "UNIT=kiln-%.*s.service", length, unit)) < 0 ||
	    (r = add_match(journal, "_PID=1")) < 0)
		return r;
	return sd_journal_add_disjunction(journal);
}

static int match_events(sd_journal *journal, const struct event_row *event)
{
	int r = sd_journal_add_conjunction(journal);

	for (size_t i = 0; r >= 0 && i < EVENT_MAX; i++)
		if (!event || event == &event_rows[i])
			r = add_match(journal, "MESSAGE_ID=%s", event_rows[i].message_id);
	return r;
}

/* The journal's index finds them: of a year of lines few are grave. */
static int match_priorities(sd_journal *journal, uint64_t priority)
{
	int r = sd_journal_add_conjunction(journal);

	for (unsigned i = 0; r >= 0 && i <= priority; i++)
		r = add_match(journal, "PRIORITY=%u", i);
	return r;
}

static bool is_below_root(void)
{
	const char *root = getenv("KILN_ROOT");

	return root && *root;
}

int journal_match(struct sd_journal *journal, const struct journal_filter *filter, struct error *err)
{
	const char *unit = filter->unit ? filter->unit : CONTROL_UNITS;
	int r = 0;

	while (r >= 0 && *unit) {
		int length = (int)strcspn(unit, "|");

		r = match_unit(journal, unit, length, is_below_root());
		unit += length + (unit[length] == '|');
	}
	if (r >= 0 && filter->events)
		r = match_events(journal, filter->event);
	if (r >= 0 && filter->priority < 7)
		r = match_priorities(journal, filter->priority);
	return r < 0 ? error_set(err, r, "the journal cannot be searched: %s", strerror(-r)) : 0;
}

int journal_open(struct sd_journal **ret_journal, struct error *err)
{
	char folder[4096];
	int r;

	(void)snprintf(folder, sizeof(folder), "%s/var/log/journal",
		       is_below_root() ? getenv("KILN_ROOT") : "");
	r = is_below_root() ? sd_journal_open_directory(ret_journal, folder, 0)
			    : sd_journal_open(ret_journal, SD_JOURNAL_LOCAL_ONLY);
	return r < 0 ? error_set(err, r, "the journal cannot be read: %s", strerror(-r)) : 0;
}

int journal_event_param(struct call *call, struct journal_filter *filter, struct error *err)
{
	const char *name = control_text(&call->request, "event", NULL);

	if (!name)
		return 0;
	filter->events = true;
	filter->event = event_by_name(name);
	if (filter->event)
		return 0;
	call->code = CONTROL_PARAMS;
	return error_set(err, -EINVAL, "%s: \"event\": there is no event \"%s\"", call->request.method->name,
			 name);
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

/* As the table has them: who forges an event gives no other. */
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
		char *value = row->fields & 1u << i ? field_of(journal, event_fields[i].name) : NULL;

		if (value)
			(void)add_event_field(fields, &event_fields[i], value);
	}
}

static void add_event(cJSON *object, sd_journal *journal, bool with_fields)
{
	CLEANUP(free_ptr) char *message_id = field_of(journal, "MESSAGE_ID");
	const struct event_row *row = message_id ? event_by_message_id(message_id) : NULL;

	(void)cJSON_AddItemToObject(object, "event",
				    row ? cJSON_CreateString(row->name) : cJSON_CreateNull());
	if (!row || !with_fields)
		return;
	(void)cJSON_AddStringToObject(object, "message_id", row->message_id);
	add_event_fields(object, journal, row);
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
	add_event(object, journal, with_fields);
	return object;
}

/* ---- The newest lines ---- */

int journal_tail(const struct journal_filter *filter, uint64_t lines, cJSON **ret_entries, struct error *err)
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
		cJSON *entry = journal_entry(journal, filter->events);
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
	struct journal_filter filter = { .unit = control_text(&call->request, "unit", NULL),
					 .events = control_flag(&call->request, "events"),
					 .priority = control_integer(&call->request, "priority", 7) };
	cJSON *entries = NULL;
	int r = journal_event_param(call, &filter, err);

	if (r < 0)
		return r;
	r = journal_tail(&filter, control_integer(&call->request, "lines", LINES_DEFAULT), &entries, err);
	if (r < 0) {
		call->code = CONTROL_UNAVAILABLE;
		return r;
	}
	call->result = cJSON_CreateObject();
	return cJSON_AddItemToObject(call->result, "entries", entries) ? 0
								       : error_set(err, -ENOMEM, "no memory");
}
