/* SPDX-License-Identifier: Apache-2.0 */
#define SD_JOURNAL_SUPPRESS_LOCATION /* makes journal entries without CODE_FILE= and CODE_LINE= */

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/visible.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <systemd/sd-journal.h>

#define ENTRY_BYTES_MAX 16384u
#define FIELDS_MAX      16u /* a row has at most 12 fields */

struct entry {
	struct iovec field[FIELDS_MAX];
	size_t fields, used;
	char data[ENTRY_BYTES_MAX];
};

static void entry_add(struct entry *entry, const char *format, ...) PRINTF(2, 3);

static void entry_add(struct entry *entry, const char *format, ...)
{
	char *at = entry->data + entry->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(at, sizeof(entry->data) - entry->used, format, args);
	va_end(args);
	if (n < 0 || entry->fields == FIELDS_MAX)
		return;
	/* A field that is too long was already cut by vsnprintf(3). */
	entry->field[entry->fields++] = (struct iovec){ at, strlen(at) };
	entry->used += strlen(at);
}

static void add_field(struct entry *entry, const struct event_field *field, const struct event *event)
{
	const void *value = (const char *)event + field->offset;
	const char *text;
	uint64_t count;
	double number;

	switch (field->type) {
	case EVENT_TEXT:
		memcpy(&text, value, sizeof(text));
		if (text && *text)
			entry_add(entry, "%s=%.1024s", field->name, text);
		break;
	case EVENT_COUNT:
		memcpy(&count, value, sizeof(count));
		entry_add(entry, "%s=%" PRIu64, field->name, count);
		break;
	case EVENT_NUMBER:
		memcpy(&number, value, sizeof(number));
		if (!isnan(number))
			entry_add(entry, "%s=%.9g", field->name, number);
		break;
	}
}

static int send_to_journal(const struct event *event, const char *text)
{
	const struct event_row *row = &event_rows[event->id];
	struct entry entry = { .fields = 0 };

	entry_add(&entry, "MESSAGE_ID=%s", row->message_id);
	entry_add(&entry, "PRIORITY=%d", row->priority);
	entry_add(&entry, "SYSLOG_IDENTIFIER=kiln-%s", log_program());
	for (size_t i = 0; i < event_fields_count; i++)
		if (row->fields & 1u << i)
			add_field(&entry, &event_fields[i], event);
	/* Add the sentence last: when the entry is too long, the end of the sentence is cut, and all fields
	 * are complete. */
	entry_add(&entry, "MESSAGE=%s", text);
	return sd_journal_sendv(entry.field, (int)entry.fields);
}

void event_send(const struct event *event, const char *format, ...)
{
	char raw[LOG_TEXT_MAX], text[LOG_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	(void)visible_lines(raw, text, sizeof(text));
	/* Print a line where standard error is not the journal, or where journald does not accept the entry,
	 * for example during its restart. */
	if (!log_is_journal() || send_to_journal(event, text) < 0)
		log_line(event_rows[event->id].priority, "%s", text);
}

int fatal(const struct error *err)
{
	int code = error_exit_code(err);

	event_send(&(struct event){ .id = EVENT_SERVICE_FAILED, .exit_status = (uint64_t)code }, "%s",
		   err->text);
	return code;
}
