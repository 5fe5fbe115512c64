/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/faults.h"
#include "drivers/journal/journal.h"

#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>

#define LOOKED_MAX 100000u /* entries of one night */

struct fault {
	uint64_t count, last_us;
	char *message;
};

/* What is graver than a notice, and what the box got over by itself. */
static bool is_fault(enum event_id id)
{
	return event_rows[id].priority <= LOG_WARNING || id == EVENT_RUN_REBOOTED ||
	       id == EVENT_SOURCE_RETRIED || id == EVENT_CHECKPOINT_BROUGHT ||
	       id == EVENT_CHECKPOINT_SKIPPED || id == EVENT_NIGHT_MISSED || id == EVENT_NIGHT_OVER;
}

static void count(struct fault *faults, sd_journal *journal)
{
	CLEANUP(free_ptr) char *message_id = journal_field(journal, "MESSAGE_ID");
	const struct event_row *row = message_id ? event_by_message_id(message_id) : NULL;
	struct fault *fault;

	if (!row || !is_fault((enum event_id)(row - event_rows)))
		return;
	fault = &faults[row - event_rows];
	fault->count++;
	(void)sd_journal_get_realtime_usec(journal, &fault->last_us);
	free(fault->message);
	fault->message = journal_field(journal, "MESSAGE");
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

/* The last second counts. Without an end the clock was set back meanwhile: all of it. */
static bool is_later(sd_journal *journal, int64_t from_s, int64_t to_s)
{
	uint64_t at_us;

	return to_s >= from_s && sd_journal_get_realtime_usec(journal, &at_us) >= 0 &&
	       at_us >= ((uint64_t)to_s + 1) * 1000000;
}

cJSON *report_faults(int64_t from_s, int64_t to_s)
{
	static const struct journal_filter filter = { .events = true, .priority = LOG_NOTICE };
	CLEANUP(journal_closep) sd_journal *journal = NULL;
	struct fault faults[EVENT_MAX] = { 0 };
	cJSON *list = cJSON_CreateArray();
	uint32_t looked = 0;
	bool good = journal_open(&journal, NULL) == 0 && journal_match(journal, &filter, NULL) == 0 &&
		    sd_journal_seek_realtime_usec(journal, (uint64_t)from_s * 1000000) >= 0;

	while (good && looked++ < LOOKED_MAX && sd_journal_next(journal) > 0 &&
	       !is_later(journal, from_s, to_s))
		count(faults, journal);
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
