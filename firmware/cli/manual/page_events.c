/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/manual/pages.h"
#include "cli/manual/roff.h"
#include "core/base/events.h"

#include <string.h>

static void fields_of(const struct event_row *row, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < event_fields_count && used < size; i++)
		if (row->fields & 1u << i)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
						 event_fields[i].name);
}

static void put_event(FILE *out, const struct event_row *row)
{
	static const char *const priorities[] = { "emerg",   "alert",  "crit", "err",
						  "warning", "notice", "info", "debug" };
	char fields[512];

	fields_of(row, fields, sizeof(fields));
	roff_item(out, row->name, "%s.", row->help);
	roff_item_more(out, "Priority %s%s%s", priorities[row->priority], *fields ? "; fields " : "", fields);
	roff_item_more(out, "MESSAGE_ID=%s", row->message_id);
}

void page_events(FILE *out)
{
	static const char *const types[] = {
		[EVENT_TEXT] = "text", [EVENT_COUNT] = "whole number", [EVENT_NUMBER] = "number"
	};

	roff_title(out, "kiln-events", "7", "events that Kiln writes to the systemd journal");
	roff_section(out, "DESCRIPTION");
	roff_paragraph(
		out,
		"An event is an entry of the systemd journal: a sentence for people, and a MESSAGE_ID and "
		"fields for programs. The MESSAGE_ID of an event never changes.");
	roff_paragraph(
		out,
		"`kiln log --events` lists the events of a box, `kiln log --follow` prints each new one, and "
		"the method `events.subscribe` of the control protocol sends them. Without Kiln:");
	roff_example(out, "journalctl -o json MESSAGE_ID=ID");
	roff_section(out, "EVENTS");
	for (size_t i = 0; i < EVENT_MAX; i++)
		put_event(out, &event_rows[i]);
	roff_section(out, "FIELDS");
	roff_paragraph(out, "A field whose value is not known is left out.");
	for (size_t i = 0; i < event_fields_count; i++)
		roff_item(out, event_fields[i].name, "%s (%s)", event_fields[i].help,
			  types[event_fields[i].type]);
	roff_see_also(out, "kiln(1), kiln-control(7), journalctl(1)");
}
