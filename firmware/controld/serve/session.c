/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/serve/session.h"
#include "controld/call/jobs.h"
#include "controld/methods/table.h"
#include "controld/serve/backlog.h"
#include "controld/serve/welcome.h"
#include "controld/status/follow.h"
#include "core/base/clock.h"

#include <stddef.h>
#include <string.h>

#define CHUNK_BYTES 16384u
#define EVENT_SPACE (64u << 10) /* the line of an event has at most about this many bytes */
/* Bounds of one client's turn, so that other clients get theirs: events, steps (requests), time. */
#define EVENTS_MAX 64
#define TURN_STEPS 32
#define TURN_MS    20

/* ---- Memory ---- */

static void clear(struct session *session, struct backlog *backlog)
{
	session->all->buffered -= backlog->size;
	backlog_clear(backlog);
}

static size_t memory_of(const struct session *session)
{
	return session->in.size + session->out.size;
}

static struct session *largest(const struct sessions *all)
{
	struct session *found = all->first;

	for (struct session *at = all->first; at; at = at->next)
		if (memory_of(at) > memory_of(found))
			found = at;
	return found;
}

static void say(const struct session *session, bool dropped, const char *verb, const char *why)
{
	char what[256];

	(void)snprintf(what, sizeof(what), "%s%s", verb, why);
	refusals_say(&session->all->refusals, dropped, session->conn->who, what, clock_ms());
}

void session_say_dropped(const struct session *session, const char *why)
{
	say(session, true, "dropped: ", why);
}

/* Grows a backlog so that `bytes` more fit. As long as all backlogs together would exceed the budget, drops
 * the client that holds the most memory; a client that sends requests of the usual size is never the one.
 * False: no memory, or this session itself holds the most. */
static bool make_fit(struct session *session, struct backlog *backlog, size_t bytes)
{
	struct sessions *all = session->all;
	size_t growth = backlog_growth(backlog, bytes);
	char why[96];

	while (growth && all->buffered + growth > CONTROL_BUFFERS_MAX) {
		struct session *found = largest(all);

		if (found == session || memory_of(found) == 0)
			return false;
		(void)snprintf(why, sizeof(why), "all clients together hold %zu bytes", all->buffered);
		session_say_dropped(found, why);
		session_end(found);
	}
	if (!backlog_grow(backlog, growth))
		return false;
	all->buffered += growth;
	return true;
}

/* ---- The way out ---- */

void session_queue(struct session *session, char *line)
{
	size_t bytes = line ? strlen(line) : 0;

	if (!backlog_bytes(&session->out))
		session->since_ms = clock_ms();
	backlog_compact(&session->out);
	if (line && make_fit(session, &session->out, bytes))
		backlog_append(&session->out, line, bytes);
	else
		session->closes = true;
	free(line);
}

void session_queue_events(struct session *session)
{
	char *line;

	follow_begin(session->follow);
	for (int i = 0; i < EVENTS_MAX; i++) {
		if (backlog_bytes(&session->out) + EVENT_SPACE > CONTROL_QUEUE_MAX ||
		    !follow_next(session->follow, &line))
			return;
		session_queue(session, line);
	}
}

static bool write_some(struct session *session)
{
	struct backlog *out = &session->out;

	while (backlog_bytes(out)) {
		ssize_t n =
			session->conn->type->write(session->conn, out->data + out->start, backlog_bytes(out));

		if (n == -EAGAIN || n == -EINTR)
			return true;
		if (n < 0)
			return false;
		out->start += (size_t)n;
		session->since_ms = clock_ms();
	}
	clear(session, out);
	return true;
}

/* ---- Begin and end ---- */

static void session_ready(struct source *source, uint32_t events);
static void follow_ready(struct source *source, uint32_t events);

struct session *session_new(struct sessions *all, struct crowd *crowd, struct conn *conn)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session || loop_add(all->loop, conn->fd, &session->source, EPOLLIN) < 0) {
		free(session);
		return NULL;
	}
	session->source.ready = session_ready;
	session->follow_source.ready = follow_ready;
	session->all = all;
	session->crowd = crowd;
	session->conn = conn;
	session->interest = EPOLLIN;
	session->since_ms = clock_ms();
	session->next = all->first;
	session->link = &all->first;
	if (session->next)
		session->next->link = &session->next;
	all->first = session;
	crowd->clients++;
	return session;
}

void session_end(struct session *session)
{
	struct sessions *all = session->all;

	if (!session->conn)
		return;
	if (session->call)
		TAKE(session->call)->client = NULL;
	if (session->follow)
		all->calls->followers--;
	follow_closep(&session->follow);
	if (session->job)
		job_leave(TAKE(session->job));
	clear(session, &session->in);
	clear(session, &session->out);
	conn_closep(&session->conn);
	*session->link = session->next;
	if (session->next)
		session->next->link = session->link;
	session->crowd->clients--;
	session->next = all->ended;
	all->ended = session;
}

void session_turn_away(struct session *session, enum control_code code, const char *why)
{
	say(session, false, "refused: ", why);
	if (!session->conn->known) {
		session_end(session);
		return;
	}
	session->closes = true;
	session_queue(session, control_reply_error(NULL, code, why));
}

/* ---- One request ---- */

/* Subscribes the client: from now on new entries of the journal wake this session, and bytes that the client
 * sends are dropped. */
static int begin_following(struct session *session, struct call *call, struct error *err)
{
	CLEANUP(follow_closep) struct follow *follow = TAKE(call->follow);
	int fd = follow_fd(follow), r = fd < 0 ? fd : 0;
	const char *why = welcome_subscriber(session);

	if (why) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%s", why);
	}
	if (r == 0)
		r = loop_add(session->all->loop, fd, &session->follow_source, EPOLLIN);
	if (r < 0) {
		call->code = CONTROL_UNAVAILABLE;
		return error_set(err, r, "the journal cannot be watched");
	}
	session->follow = TAKE(follow);
	session->all->calls->followers++;
	return 0;
}

/* The unit of the session's job has ended (job_ended_fn): the client is told, and the session is over. */
static void job_ended(void *client, char *line)
{
	struct session *session = client;

	session->job = NULL;
	session_queue(session, line);
	session->closes = true;
	session_go_on(session);
}

/* The session owns the job from now on. A session has one job at most: another call of rank.start leaves the
 * earlier one. */
static void take_job(struct session *session, struct call *call)
{
	if (session->job)
		job_leave(session->job);
	session->job = TAKE(call->job);
	job_own(session->job, job_ended, session);
}

static char *answer_line(struct call *call, int r, const struct error *err)
{
	char *line = r == 0 ? control_reply(call->request.id, TAKE(call->result))
			    : control_reply_error(call->request.id, call->code, err->text);

	return line ? line : control_reply_error(call->request.id, CONTROL_LIMIT, "the answer is too long");
}

/* Queues the answer when a call of this session has ended (call_answer_fn). */
static void answer(void *client, struct call *call, int r, struct error *err)
{
	struct session *session = client;
	bool was_elsewhere = session->call == call;

	session->call = NULL;
	if (r == 0 && call->follow)
		r = begin_following(session, call, err);
	if (r == 0 && call->job)
		take_job(session, call);
	if (r < 0 && call->code == CONTROL_REFUSED)
		say(session, false, "refused: ", err->text);
	if (!call->request.gets_no_answer)
		session_queue(session, answer_line(call, r, err));
	if (was_elsewhere)
		session_go_on(session);
}

static void handle_line(struct session *session, const char *line, size_t bytes)
{
	struct sessions *all = session->all;
	struct call *call = call_new(all->calls, all->box, answer, session);
	struct error err = { 0 };
	int r;

	if (!call) {
		session->closes = true; /* no memory, not even for an error message */
		return;
	}
	call->caller = session->conn->caller;
	r = control_request_parse(line, bytes, session->conn->role, &call->request, &call->code, &err);
	if (r == 0) {
		call->code = CONTROL_INTERNAL;
		r = methods_run(call, &err);
	}
	if (r == CALL_LATER)
		session->call = call;
	else
		call_end(call, r, &err);
}

/* Handles the first whole line in the backlog. False: no line is whole yet. */
static bool next_line(struct session *session)
{
	struct backlog *in = &session->in;
	size_t bytes = backlog_bytes(in);
	char *from = in->data + in->start, *end = bytes ? memchr(from, '\n', bytes) : NULL;

	if (!end && bytes < CONTROL_REQUEST_MAX) {
		if (bytes)
			backlog_compact(in);
		else
			clear(session, in);
		return false;
	}
	bytes = end ? (size_t)(end - from) : bytes;
	if (!end)
		session->closes = true; /* the line is too long, and its end may never come */
	in->start += bytes + (end != NULL);
	session->since_ms = clock_ms();
	handle_line(session, from, bytes);
	return true;
}

/* Called once the role of the client has become known. Returns false where the client may not stay. */
static bool is_welcome(struct session *session)
{
	enum control_code code;
	const char *why = welcome_client(session, &code);

	if (why)
		session_turn_away(session, code, why);
	return !why;
}

static void read_some(struct session *session)
{
	char chunk[CHUNK_BYTES];
	const bool was_known = session->conn->known;
	ssize_t n = session->conn->type->read(session->conn, chunk, sizeof(chunk));

	if (!was_known && session->conn->known && !is_welcome(session))
		return;

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		session->sends_no_more = true;
		if (n < 0)
			session->closes = true;
		if (*session->conn->why)
			say(session, false, "", session->conn->why);
		return;
	}
	if (session->follow)
		return; /* a subscriber has no more requests: its bytes are dropped */
	if (!backlog_bytes(&session->in))
		session->since_ms = clock_ms();
	if (!make_fit(session, &session->in, (size_t)n)) {
		session->closes = session->sends_no_more = true;
		return;
	}
	backlog_append(&session->in, chunk, (size_t)n);
}

/* ---- Moving on ---- */

static void set_interest(struct session *session)
{
	const struct conn *conn = session->conn;
	bool writes = backlog_bytes(&session->out) > 0;
	uint32_t interest = 0;

	/* A session that has more to do waits for nothing: its socket, which can be written, wakes it. */
	if (writes || session->has_more || (conn->type->wants_write && conn->type->wants_write(conn)))
		interest |= EPOLLOUT;
	if (!session->sends_no_more && !session->call && !session->has_more && !session->rests &&
	    (!writes || session->follow))
		interest |= EPOLLIN;
	if (interest == session->interest)
		return;
	session->interest = interest;
	loop_change(session->all->loop, conn->fd, &session->source, interest);
}

/* Returns whether bytes lie in the TLS library, of which epoll does not know. */
static bool is_buffered(const struct session *session)
{
	const struct conn *conn = session->conn;

	return !session->sends_no_more && conn->type->buffered && conn->type->buffered(conn) > 0;
}

/* Returns whether the rules of rests.h are for this client. */
static bool pays(const struct session *session)
{
	return session->conn->known && session->conn->role != CONTROL_ADMIN;
}

/* Returns whether the next line has to wait. The sweep goes on with the session. */
static bool must_rest(struct session *session)
{
	session->rests = pays(session) && backlog_bytes(&session->in) &&
			 rests_is_resting(&session->all->rests, session->conn->caller, clock_ms());
	return session->rests;
}

/* Makes one step: writes the answer, or handles the next line. False: the session must wait, or it has
 * ended. */
static bool step(struct session *session)
{
	if (!write_some(session)) {
		session_end(session);
		return false;
	}
	if (backlog_bytes(&session->out) || session->call)
		return false;
	if (session->closes) {
		session_end(session);
		return false;
	}
	if (must_rest(session))
		return false;
	if (!session->follow && next_line(session))
		return true;
	if (is_buffered(session)) {
		read_some(session);
		return true;
	}
	if (session->sends_no_more)
		session_end(session);
	return false;
}

void session_go_on(struct session *session)
{
	const uint64_t since_ms = clock_ms();
	uint64_t caller;
	unsigned steps = 0;
	bool pays_for_it;

	if (!session->conn)
		return;
	/* The session may end in its turn: whoever sends a request and leaves at once pays, too. */
	pays_for_it = pays(session);
	caller = session->conn->caller;
	do
		session->has_more = step(session);
	while (session->has_more && ++steps < TURN_STEPS && clock_ms() - since_ms < TURN_MS);
	if (pays_for_it)
		rests_charge(&session->all->rests, caller, clock_ms() - since_ms, clock_ms());
	if (session->conn)
		set_interest(session);
}

static void session_ready(struct source *source, uint32_t events)
{
	struct session *session = (struct session *)source;

	if (!session->conn)
		return;
	/* A socket that is writable while nothing is queued: a TLS handshake has waited for that, and read()
	 * goes on with the handshake. */
	if ((events & EPOLLIN) || ((events & EPOLLOUT) && !session->out.end && !session->has_more))
		read_some(session);
	if (session->follow && !session->sends_no_more)
		session_queue_events(session);
	session_go_on(session);
	/* The connection is closed in both directions: nobody can read an answer. */
	if (session->conn && (events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN))
		session_end(session);
}

static void follow_ready(struct source *source, uint32_t events)
{
	struct session *session =
		(struct session *)(void *)((char *)source - offsetof(struct session, follow_source));

	(void)events;
	if (!session->conn)
		return;
	follow_process(session->follow);
	session_queue_events(session);
	session_go_on(session);
}
