/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are the journal's entries of our units that carry a MESSAGE_ID of ours, core/base/events.h; its
 * cursor is the resume token. The journal is the queue, too: a subscriber who reads slowly has
 * CONTROL_QUEUE_MAX bytes on their way to it and gets the rest from its place in the journal. Where the
 * journal let go of that place meanwhile, or of the one it resumes from, it is told by events.lost and goes
 * on with the oldest entry behind it.
 */
#include "controld/controld.h"

#include <string.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <time.h>

#define ENTRY_ROOM  (64u << 10) /* an entry on its way has at most this many bytes, or close to it */
#define ENTRIES_MAX 64          /* at a time: other clients want their turn */

struct events {
	struct source source;
	struct session *session;
	sd_journal *journal;
	char *last;  /* the cursor of the event that was sent last; NULL = none was */
	bool behind; /* there may be entries after it */
};

void events_closep(struct events **events)
{
	if (!*events)
		return;
	journal_closep(&(*events)->journal);
	free((*events)->last);
	free(*events);
	*events = NULL;
}

/* ---- A place in the journal ---- */

static bool is_there(sd_journal *journal, const char *cursor)
{
	return sd_journal_seek_cursor(journal, cursor) >= 0 && sd_journal_next(journal) > 0 &&
	       sd_journal_test_cursor(journal, cursor) > 0;
}

/* The first sd_journal_next() after it gives the first event behind the cursor. */
static int seek_behind(sd_journal *journal, const char *cursor)
{
	return is_there(journal, cursor) ? 0 : sd_journal_seek_cursor(journal, cursor);
}

/* The first sd_journal_next() after it gives the first event that is yet to come. */
static int seek_end(sd_journal *journal)
{
	int r = sd_journal_seek_tail(journal);

	if (r >= 0 && (r = sd_journal_previous(journal)) == 0)
		r = sd_journal_seek_head(journal); /* there is none yet */
	return r;
}

/* ---- Sending ---- */

/* In the shape of an event, for whoever prints them. */
static void queue_lost(struct session *session, const char *cursor)
{
	cJSON *params = cJSON_CreateObject();

	(void)json_add_u64(params, "time_us", (uint64_t)time(NULL) * 1000000);
	(void)cJSON_AddStringToObject(params, "unit", "kiln-controld");
	(void)cJSON_AddNumberToObject(params, "priority", LOG_WARNING);
	(void)cJSON_AddStringToObject(params, "event", "events.lost");
	(void)cJSON_AddStringToObject(params, "message",
				      "the journal does not hold what came behind the cursor any more");
	(void)cJSON_AddStringToObject(params, "cursor", cursor);
	session_queue(session, control_event("events.lost", params));
}

static void queue_entry(struct events *events)
{
	char *cursor = NULL;

	session_queue(events->session, control_event("event", journal_entry(events->journal, true)));
	if (sd_journal_get_cursor(events->journal, &cursor) < 0)
		return;
	free(events->last);
	events->last = cursor;
}

void events_pump(struct events *events)
{
	bool behind = events->behind;

	events->behind = true;
	if (session_room(events->session) < ENTRY_ROOM)
		return;
	/* The library goes on with the next file that is left and says nothing. */
	if (behind && events->last && !is_there(events->journal, events->last)) {
		queue_lost(events->session, events->last);
		(void)sd_journal_seek_cursor(events->journal, events->last);
		free(TAKE(events->last));
	}
	for (int i = 0; i < ENTRIES_MAX && session_room(events->session) >= ENTRY_ROOM; i++) {
		if (sd_journal_next(events->journal) <= 0) {
			events->behind = false;
			return;
		}
		queue_entry(events);
	}
}

static void events_ready(struct source *source, uint32_t event_mask)
{
	struct events *events = (struct events *)source;

	(void)event_mask;
	if (!session_is_open(events->session))
		return;
	(void)sd_journal_process(events->journal);
	events_pump(events);
	session_flush(events->session);
}

/* ---- Subscribing ---- */

/* Whether `since` is still there is asked before the filter: it may be the place of any line. */
static int open_at(struct events *events, const char *since, const struct journal_filter *filter,
		   struct error *err)
{
	int r = journal_open(&events->journal, err);
	bool lost;

	if (r < 0)
		return r;
	if (since && (r = sd_journal_seek_cursor(events->journal, since)) < 0)
		return error_set(err, r, "\"since\" is no cursor of a journal");
	lost = since && !is_there(events->journal, since);
	if ((r = journal_match(events->journal, filter, err)) < 0)
		return r;
	r = since ? seek_behind(events->journal, since) : seek_end(events->journal);
	if (r < 0)
		return error_set(err, r, "no place in the journal: %s", strerror(-r));
	events->behind = true;
	if (lost && !(events->last = strdup(since))) /* the first pump finds that it is gone */
		return error_set(err, -ENOMEM, "no memory for a subscriber");
	return 0;
}

int events_open(struct session *session, const char *since, const struct journal_filter *filter,
		struct events **ret_events, struct error *err)
{
	CLEANUP(events_closep) struct events *events = calloc(1, sizeof(*events));
	int r, fd;

	if (!events)
		return error_set(err, -ENOMEM, "no memory for a subscriber");
	events->source.ready = events_ready;
	events->session = session;
	if ((r = open_at(events, since, filter, err)) < 0)
		return r;
	fd = sd_journal_get_fd(events->journal);
	if (fd < 0 || (r = server_add(session_call(session)->server, fd, &events->source, EPOLLIN)) < 0)
		return error_set(err, fd < 0 ? fd : r, "the journal cannot be watched");
	*ret_events = TAKE(events);
	return 0;
}

int method_events_subscribe(struct call *call, struct error *err)
{
	struct journal_filter filter = { .events = true, .priority = LOG_DEBUG };
	struct events *events;
	int r;

	if (call->server->subscribed >= CONTROL_SUBSCRIBED_MAX) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%u subscribers are there already", CONTROL_SUBSCRIBED_MAX);
	}
	if ((r = journal_event_param(call, &filter, err)) < 0)
		return r;
	r = events_open(call->session, control_text(&call->request, "since", NULL), &filter, &events, err);
	if (r < 0) {
		call->code = r == -EINVAL ? CONTROL_PARAMS : CONTROL_UNAVAILABLE;
		return r;
	}
	session_subscribe(call->session, events);
	call->result = cJSON_CreateObject();
	return cJSON_AddTrueToObject(call->result, "subscribed") ? 0 : error_set(err, -ENOMEM, "no memory");
}
