/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is a connected client of controld: its connection, its current line, call and answer, and its
 * time limits.
 *
 *     reading -- a whole line --> at work -- call_end() --> answering -- the last byte is sent --> reading
 *                                                            |
 *                             events.subscribe               +--> subscribed, until the client leaves
 *                             rank.start                     +--> with a job, until the client leaves or the
 *                                                                 job ends
 *
 * controld reads from a client only while it expects a request: not while a call of the client is at work,
 * and not before the client has read its answer. So a client costs the memory of one line and one answer at
 * most, and a slow client delays only itself. A client that sends many lines at once gets a few answers in
 * each round of the epoll loop, so that all clients get their turn. A user or a certificate below admin whose
 * requests take long has to wait on all connections (rests.h). A client that does not go on within the
 * time limits CONTROL_REQUEST_S, _REPLY_S and _IDLE_S (core/control/control.h) is dropped.
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
	struct call *call;     /* the call that waits for kiln-steer; NULL = no call waits */
	struct follow *follow; /* the events of a subscribed client; NULL = not subscribed */
	struct job *job; /* the job that the client has started, which ends with the session; NULL = none */
	/* time of the last progress: the first byte of a line, a whole line, bytes of an answer */
	uint64_t since_ms;
	uint32_t interest; /* events that epoll watches for */
	bool has_more; /* the turn was over before all work was done: the session goes on in the next round */
	bool rests;    /* the next line waits, because the caller's requests take long (rests.h) */
	bool sends_no_more; /* the client closed its side */
	bool closes;        /* the session ends once the answer is sent */
};

/* Begins a session, which then owns the connection. Errors: NULL, no memory; the caller still owns the
 * connection. */
struct session *session_new(struct sessions *all, struct crowd *crowd, struct conn *conn);
/* Closes the connection. A call that kiln-steer works on goes on without its client. */
void session_end(struct session *session);

/* Queues one line (malloc'ed) and frees it. A NULL line means that there was no memory for it: the session
 * ends after the lines that are queued before. */
void session_queue(struct session *session, char *line);
/* Queues the next events of a subscribed client while its backlog has space; later events wait in the
 * journal. */
void session_queue_events(struct session *session);
/* Gives the session a turn: writes queued bytes and handles lines, until it must wait or the turn is over.
 * May end the session. */
void session_go_on(struct session *session);

/* Turns a client away: queues the reason, or ends the session where the role of the client is not known yet,
 * because a TLS handshake has no place for a reason. Sends the event client.refused. */
void session_turn_away(struct session *session, enum control_code code, const char *why);

/* Sends the event client.dropped (serve/refusals.h). */
void session_say_dropped(const struct session *session, const char *why);
