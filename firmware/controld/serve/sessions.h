/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All clients of controld, from both listeners. Each client is a session (session.h).
 *
 * A session that ends stays in memory until sessions_free_ended(): epoll may still report an event of it in
 * the same round.
 */
#pragma once

#include "controld/call/call.h"
#include "controld/serve/refusals.h"
#include "controld/serve/rests.h"
#include "controld/wire/conn.h"

/* The connections of one listener, and their limits. */
struct crowd {
	size_t clients, clients_max;
	size_t place_max; /* most clients from one place (struct conn); 0 = no limit */
	unsigned idle_s;  /* longest time between two requests */
};

struct session;

struct sessions {
	struct loop *loop;
	struct calls *calls;
	struct box *box;
	struct session *first;
	struct session *ended; /* ended sessions, which are freed at the end of the round */
	size_t buffered;       /* bytes of memory that all sessions' buffers hold */
	struct refusals refusals;
	struct rests rests;
};

/* Begins a session. A client that may not stay (too many connections, no role) is told so, then the session
 * ends. Where a listener has all its connections, a new one ends the oldest one that has not finished its
 * handshake, so that strangers cannot lock clients out.
 * Owns: `conn`, also where there is no memory for a session. */
void sessions_add(struct sessions *sessions, struct crowd *crowd, struct conn *conn);

/* Ends sessions that exceed a time limit, and queues new events for subscribers. */
void sessions_sweep(struct sessions *sessions, uint64_t now_ms);
/* Ends the sessions of clients whose certificate was revoked. */
void sessions_end_revoked(struct sessions *sessions);
void sessions_free_ended(struct sessions *sessions);
/* Ends and frees all sessions. */
void sessions_done(struct sessions *sessions);
