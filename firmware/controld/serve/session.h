/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is a connected client of controld: its connection, its current line, call and answer, and its
 * time limits.
 *
 *     reading -- a whole line --> at work -- call_end() --> answering -- the last byte is sent --> reading
 *                                                            |
 *                             events.subscribe               +--> subscribed, until the client leaves
 *
 * The session reads from a client only while a request is due: not while a call is at work, and not before
 * the client has read its answer. So a client costs at most one line and one answer, and a slow client delays
 * nobody else. The time limits CONTROL_REQUEST_S, _REPLY_S and _IDLE_S (core/control/control.h) end sessions
 * whose client does nothing.
 */
#pragma once

#include "controld/serve/backlog.h"
#include "controld/serve/sessions.h"

struct session {
	struct source source, follow_source;
	struct sessions *all;
	struct crowd *crowd;
	struct session *next, **link;
	struct conn *conn; /* NULL = the session has ended */
	struct backlog in, out;
	struct call *call;     /* at work elsewhere; NULL = none is */
	struct follow *follow; /* events.subscribe; NULL = not subscribed */
	uint64_t
		since_ms; /* when the last step was: the first byte of a line, a whole line, answered bytes */
	uint32_t interest;  /* events that epoll watches for */
	bool sends_no_more; /* the client closed its side */
	bool closes;        /* ends once the answer is sent */
};

/* Errors: NULL, no memory; the connection stays the caller's. */
struct session *session_new(struct sessions *all, struct crowd *crowd, struct conn *conn);
/* Closes the connection. A call that kiln-steer works on goes on without its client. */
void session_end(struct session *session);

/* Queues one line (malloc'ed) and frees it. NULL, no memory for the line: the session ends after what is
 * queued before. */
void session_queue(struct session *session, char *line);
/* Queues a subscriber's next events as far as its queue has space; the rest waits in the journal. */
void session_queue_events(struct session *session);
/* Writes, answers and reads on as far as it is possible without waiting. May end the session. */
void session_go_on(struct session *session);

/* Events for the log: client.dropped and client.refused. */
void session_say_dropped(const struct session *session, const char *why);
void session_say_refused(const struct conn *conn, const char *why);
