/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/faults.h"
#include "core/base/events.h"
#include "drivers/journal/journal.h"

#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

/* upper bound of journal entries read for one night, so that a report does not take too long */
#define LOOKED_MAX 100000u

/* ---- Counting ---- */

/* All events of one kind in the night. */
struct fault {
	uint64_t count, last_us;
	char *message; /* text of the last event */
};

/* Returns whether an event belongs in the report: warnings, errors, and notices about faults that the box
 * repaired by itself. */
static bool is_fault(enum event_id id)
{
	return event_rows[id].priority <= LOG_WARNING || id == EVENT_RUN_REBOOTED ||
	       id == EVENT_SOURCE_RETRIED || id == EVENT_CHECKPOINT_BROUGHT ||
	       id == EVENT_CHECKPOINT_SKIPPED || id == EVENT_NIGHT_MISSED || id == EVENT_NIGHT_OVER;
}

/* Counts an event. Owns `message` from now on. */
static void count(struct fault faults[static EVENT_MAX], enum event_id id, uint64_t at_us, char *message)
{
	struct fault *fault = &faults[id];

	fault->count++;
	fault->last_us = at_us;
	free(fault->message);
	fault->message = message;
}

static bool add(cJSON *list, enum event_id id, const struct fault *fault)
{
	const char *level = event_rows[id].priority <= LOG_ERR       ? "error"
			    : event_rows[id].priority == LOG_WARNING ? "warning"
								     : "notice";
	cJSON *object = cJSON_CreateObject();

	return cJSON_AddItemToArray(list, object) &&
	       cJSON_AddStringToObject(object, "event", event_rows[id].name) &&
	       cJSON_AddStringToObject(object, "level", level) &&
	       json_add_u64(object, "count", fault->count) &&
	       json_add_u64(object, "last_s", fault->last_us / 1000000) &&
	       cJSON_AddItemToObject(object, "message", json_string(fault->message ? fault->message : ""));
}

/* Makes a JSON list of the faults, and frees their messages. NULL: no memory. */
static cJSON *list_of(struct fault faults[static EVENT_MAX])
{
	cJSON *list = cJSON_CreateArray();
	bool good = list;

	for (int id = 0; id < EVENT_MAX; id++) {
		if (faults[id].count)
			good = good && add(list, (enum event_id)id, &faults[id]);
		free(faults[id].message);
	}
	if (good)
		return list;
	cJSON_Delete(list);
	return NULL;
}

/* ---- The journal ---- */

static void count_entry(struct fault faults[static EVENT_MAX], sd_journal *journal)
{
	CLEANUP(free_ptr) char *message_id = journal_field(journal, "MESSAGE_ID");
	const struct event_row *row = message_id ? event_by_message_id(message_id) : NULL;
	uint64_t at_us = 0;

	if (!row || !is_fault((enum event_id)(row - event_rows)))
		return;
	(void)sd_journal_get_realtime_usec(journal, &at_us);
	count(faults, (enum event_id)(row - event_rows), at_us, journal_field(journal, "MESSAGE"));
}

/* Returns whether an entry is later than the night. The second `to_s` still belongs to the night. Where the
 * end is earlier than the start, the clock was set back meanwhile: then no entry is too late. */
static bool is_later(uint64_t at_us, int64_t from_s, int64_t to_s)
{
	return to_s >= from_s && at_us >= ((uint64_t)to_s + 1) * 1000000;
}

cJSON *report_faults(int64_t from_s, int64_t to_s)
{
	static const struct journal_filter filter = { .events = true, .priority = LOG_NOTICE };
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	struct fault faults[EVENT_MAX] = { 0 };
	uint32_t looked = 0;

	if (journal_open(&journal, NULL) < 0 || journal_match(journal, &filter, NULL) < 0 ||
	    sd_journal_seek_realtime_usec(journal, (uint64_t)from_s * 1000000) < 0)
		return NULL;
	while (looked++ < LOOKED_MAX && sd_journal_next(journal) > 0) {
		uint64_t at_us;

		if (sd_journal_get_realtime_usec(journal, &at_us) >= 0 && is_later(at_us, from_s, to_s))
			break;
		count_entry(faults, journal);
	}
	return list_of(faults);
}
