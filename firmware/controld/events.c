/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events are the journal's entries of our units that carry a MESSAGE_ID; its cursor is the resume token. The
 * journal is the queue, too: a subscriber who reads slowly has CONTROL_QUEUE_MAX bytes on their way to it and
 * gets the rest from its place in the journal. Where the cursor it resumes from is in the journal no more,
 * the answer says that entries were lost.
 */
#include "controld/controld.h"

#include <string.h>
#include <systemd/sd-journal.h>

#define ENTRY_ROOM  (64u << 10) /* an entry on its way has at most this many bytes, or close to it */
#define ENTRIES_MAX 64          /* at a time: other clients want their turn */

struct events {
	struct source source;
	struct session *session;
	sd_journal *journal;
};

void events_closep(struct events **events)
{
	if (!*events)
		return;
	journal_closep(&(*events)->journal);
	free(*events);
	*events = NULL;
}

void events_pump(struct events *events)
{
	for (int i = 0; i < ENTRIES_MAX && session_room(events->session) >= ENTRY_ROOM; i++) {
		const void *data;
		size_t length;

		if (sd_journal_next(events->journal) <= 0)
			return;
		if (sd_journal_get_data(events->journal, "MESSAGE_ID", &data, &length) >= 0)
			session_queue(events->session,
				      control_event("event", journal_entry(events->journal, true)));
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

/* The first sd_journal_next() after it gives the first entry the client has not seen. */
static int seek(sd_journal *journal, const char *since, bool *ret_lost)
{
	int r;

	*ret_lost = false;
	if (!since) {
		r = sd_journal_seek_tail(journal);
		return r < 0 ? r : sd_journal_previous(journal);
	}
	r = sd_journal_seek_cursor(journal, since);
	if (r < 0)
		return r;
	if (sd_journal_next(journal) > 0 && sd_journal_test_cursor(journal, since) > 0)
		return 0;
	*ret_lost = true; /* the entries next to it are there */
	return sd_journal_seek_cursor(journal, since);
}

int events_open(struct session *session, const char *since, bool *ret_lost, struct events **ret_events,
		struct error *err)
{
	CLEANUP(events_closep) struct events *events = calloc(1, sizeof(*events));
	int r, fd;

	if (!events)
		return error_set(err, -ENOMEM, "no memory for a subscriber");
	events->source.ready = events_ready;
	events->session = session;
	if ((r = journal_open(NULL, &events->journal, err)) < 0)
		return r;
	if ((r = seek(events->journal, since, ret_lost)) < 0)
		return error_set(err, r, "no place in the journal: %s", strerror(-r));
	fd = sd_journal_get_fd(events->journal);
	if (fd < 0 || (r = server_add(session_call(session)->server, fd, &events->source, EPOLLIN)) < 0)
		return error_set(err, fd < 0 ? fd : r, "the journal cannot be watched");
	*ret_events = TAKE(events);
	return 0;
}

int method_events_subscribe(struct call *call, struct error *err)
{
	struct events *events;
	bool lost;
	int r;

	if (call->server->subscribed >= CONTROL_SUBSCRIBED_MAX) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%u subscribers are there already", CONTROL_SUBSCRIBED_MAX);
	}
	r = events_open(call->session, control_text(&call->request, "since", NULL), &lost, &events, err);
	if (r < 0) {
		call->code = r == -EINVAL ? CONTROL_PARAMS : CONTROL_UNAVAILABLE;
		return r;
	}
	session_subscribe(call->session, events);
	call->result = cJSON_CreateObject();
	if (cJSON_AddTrueToObject(call->result, "subscribed") &&
	    cJSON_AddBoolToObject(call->result, "lost", lost))
		return 0;
	return error_set(err, -ENOMEM, "no memory");
}
