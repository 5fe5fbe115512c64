/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/sessions.h"
#include "controld/serve/session.h"
#include "controld/serve/welcome.h"

#include <string.h>

/* ---- Begin and end ---- */

static size_t clients_at(const struct sessions *sessions, const char *place)
{
	size_t count = 0;

	for (const struct session *at = sessions->first; at; at = at->next)
		count += strcmp(at->conn->place, place) == 0;
	return count;
}

/* The role ranks stands apart: it ends no session of another role, and no other role ends its session, whose
 * job would end with it. */
static bool is_lower(const struct session *session, const struct session *than)
{
	return !session->conn->known ||
	       (than->conn->role != CONTROL_RANKS && session->conn->role < than->conn->role);
}

/* Ends the oldest session of the crowd whose client has less to say than that of `newest`: it has not
 * finished its handshake, or has a lower role. */
static void make_room(struct sessions *sessions, const struct session *newest)
{
	struct session *oldest = NULL;

	for (struct session *at = sessions->first; at; at = at->next)
		if (at != newest && at->crowd == newest->crowd && is_lower(at, newest))
			oldest = at; /* new sessions are first */
	if (!oldest)
		return;
	session_say_dropped(oldest, oldest->conn->known
					    ? "too many connections, and a client with a higher role"
					    : "no handshake yet, and too many connections");
	session_end(oldest);
}

/* Returns why a new client must be sent away; NULL = it may stay. */
static const char *unwelcome(const struct session *session, enum control_code *ret_code)
{
	const struct conn *conn = session->conn;
	const struct crowd *crowd = session->crowd;

	*ret_code = CONTROL_LIMIT;
	if (crowd->place_max && clients_at(session->all, conn->place) > crowd->place_max)
		return "too many connections from this address";
	if (crowd->clients > crowd->clients_max)
		make_room(session->all, session);
	if (crowd->clients > crowd->clients_max)
		return "too many connections";
	return conn->known ? welcome_client(session, ret_code) : NULL;
}

void sessions_add(struct sessions *sessions, struct crowd *crowd, struct conn *conn)
{
	struct session *session = session_new(sessions, crowd, conn);
	enum control_code code;
	const char *why;

	if (!session) {
		conn_closep(&conn);
		return;
	}
	why = unwelcome(session, &code);
	if (!why)
		return;
	session_turn_away(session, code, why);
	session_go_on(session);
}

void sessions_free_ended(struct sessions *sessions)
{
	while (sessions->ended) {
		struct session *session = sessions->ended;

		sessions->ended = session->next;
		free(session);
	}
}

void sessions_done(struct sessions *sessions)
{
	while (sessions->first)
		session_end(sessions->first);
	sessions_free_ended(sessions);
}

/* ---- Time limits ---- */

static void drop_late(struct session *session, const char *what, unsigned seconds)
{
	char why[96];

	(void)snprintf(why, sizeof(why), "%s within %u s", what, seconds);
	session_say_dropped(session, why);
	session_end(session);
}

static void sweep_one(struct session *session, uint64_t now_ms)
{
	uint64_t waited_s = (now_ms - session->since_ms) / 1000;

	if (!session->conn)
		return; /* ended in this sweep, because another session needed its memory */
	if (session->rests) {
		session_go_on(session);
	} else if (!session->conn->known) {
		if (waited_s >= CONTROL_HANDSHAKE_S)
			drop_late(session, "no handshake", CONTROL_HANDSHAKE_S);
	} else if (session->out.end || session->has_more) {
		if (waited_s >= CONTROL_REPLY_S)
			drop_late(session, "it read nothing of its answer", CONTROL_REPLY_S);
	} else if (session->call || (session->job && !session->in.end)) {
		return; /* a word to kiln-steer has a time limit of its own; a job lasts until its client is
			   gone */
	} else if (session->follow) {
		session_queue_events(session);
		session_go_on(session);
	} else if (session->in.end) {
		if (waited_s < CONTROL_REQUEST_S)
			return;
		session->closes = true;
		session_queue(session,
			      control_reply_error(NULL, CONTROL_TIMEOUT, "the request took too long"));
		session_go_on(session);
	} else if (waited_s >= session->crowd->idle_s) {
		session_end(session);
	}
}

void sessions_sweep(struct sessions *sessions, uint64_t now_ms)
{
	struct session *next;

	for (struct session *session = sessions->first; session; session = next) {
		next = session->next;
		sweep_one(session, now_ms);
	}
	refusals_sweep(&sessions->refusals, now_ms);
}

void sessions_end_revoked(struct sessions *sessions)
{
	struct session *next;

	for (struct session *session = sessions->first; session; session = next) {
		struct conn *conn = session->conn;

		next = session->next;
		if (!conn || !conn->type->is_revoked || !conn->type->is_revoked(conn))
			continue;
		session_say_dropped(session, "the certificate is revoked");
		session_end(session);
	}
}
