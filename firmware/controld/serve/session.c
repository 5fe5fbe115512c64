/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client is read while it owes a request, and only then: not while its call is at work and not before it
 * took its answer. So it costs one line and one answer at most, and a client that is slow waits for itself
 * alone.
 */
#include "controld/controld.h"
#include "core/base/clock.h"
#include "core/base/events.h"

#include <string.h>

#define CHUNK_BYTES 16384u

struct text {
	char *data;
	size_t bytes, size, taken;
};

struct session {
	struct source source;
	struct server *server;
	struct listener *listener;
	struct session *next, **link;
	struct conn *conn;
	struct text in, out;
	struct call call;
	struct events *events;
	uint64_t since_ms; /* of the first byte of the line, the last byte of the answer that went, or the
			      last request */
	uint32_t interest;
	bool busy;   /* the call is at work elsewhere */
	bool ended;  /* the client sends no more */
	bool closes; /* once the answer is gone */
};

static void go_on(struct session *session);

/* ---- Memory ---- */

static void text_clear(struct session *session, struct text *text)
{
	session->server->buffered -= text->size;
	free(text->data);
	*text = (struct text){ 0 };
}

/* Who holds the most goes first: that is never a client who sends requests of the usual size. */
static struct session *largest(const struct server *server)
{
	struct session *found = server->sessions;

	for (struct session *at = server->sessions; at; at = at->next)
		if (at->in.size + at->out.size > found->in.size + found->out.size)
			found = at;
	return found;
}

/* Room for `bytes` more. False: there is none, or this session had to go. */
static bool text_grow(struct session *session, struct text *text, size_t bytes)
{
	struct server *server = session->server;
	size_t size = text->size ? text->size : 512;
	char *data;

	while (size < text->bytes + bytes)
		size *= 2;
	if (size == text->size)
		return true;
	while (server->buffered + size - text->size > CONTROL_BUFFERS_MAX) {
		struct session *found = largest(server);

		if (found == session || found->in.size + found->out.size == 0)
			return false;
		event_send(&(struct event){ .id = EVENT_CLIENT_DROPPED, .client = found->conn->who },
			   "%s: dropped: all clients together hold %zu bytes", found->conn->who,
			   server->buffered);
		session_end(found);
	}
	data = realloc(text->data, size);
	if (!data)
		return false;
	server->buffered += size - text->size;
	text->data = data;
	text->size = size;
	return true;
}

/* ---- Begin and end ---- */

static void session_ready(struct source *source, uint32_t events);

/* Why a client is told to go at once; NULL = it may stay. */
static const char *unwelcome(const struct session *session, enum control_code *ret_code)
{
	const struct conn *conn = session->conn;

	*ret_code = CONTROL_LIMIT;
	if (session->listener->clients > session->listener->clients_max)
		return "too many connections";
	*ret_code = CONTROL_REFUSED;
	if (conn->known && conn->role == CONTROL_NOBODY)
		return "your user is in none of the groups kiln-view, kiln-operate, kiln-admin";
	return NULL;
}

static void say_refused(const struct conn *conn, const char *why)
{
	event_send(&(struct event){ .id = EVENT_CLIENT_REFUSED, .client = conn->who }, "%s: refused: %s",
		   conn->who, why);
}

void session_begin(struct listener *listener, struct conn *conn)
{
	struct session *session = calloc(1, sizeof(*session));
	struct server *server = listener->server;
	enum control_code code;
	const char *why;

	if (!session || server_add(server, conn->fd, &session->source, EPOLLIN) < 0) {
		free(session);
		conn_closep(&conn);
		return;
	}
	session->source.ready = session_ready;
	session->server = server;
	session->listener = listener;
	session->conn = conn;
	session->interest = EPOLLIN;
	session->since_ms = clock_ms();
	session->next = server->sessions;
	session->link = &server->sessions;
	if (session->next)
		session->next->link = &session->next;
	server->sessions = session;
	listener->clients++;
	why = unwelcome(session, &code);
	if (!why)
		return;
	say_refused(conn, why);
	/* To a stranger not even that: the handshake would come first. */
	if (!conn->known) {
		session_end(session);
		return;
	}
	session->closes = true;
	session_queue(session, control_reply_error(NULL, code, why));
	go_on(session);
}

/* The memory goes at the end of the round: epoll may still name it in this one. */
void session_end(struct session *session)
{
	struct server *server = session->server;

	if (!session->conn)
		return;
	steer_forget(server, session);
	if (session->events)
		server->subscribed--;
	control_request_done(&session->call.request);
	cJSON_Delete(session->call.result);
	text_clear(session, &session->in);
	text_clear(session, &session->out);
	conn_closep(&session->conn);
	*session->link = session->next;
	if (session->next)
		session->next->link = session->link;
	session->listener->clients--;
	session->next = server->ended;
	server->ended = session;
}

void session_free_ended(struct server *server)
{
	while (server->ended) {
		struct session *session = server->ended;

		server->ended = session->next;
		events_closep(&session->events);
		free(session);
	}
}

bool session_is_open(const struct session *session)
{
	return session->conn != NULL;
}

struct session *session_next(struct session *session)
{
	return session->next;
}

struct call *session_call(struct session *session)
{
	return &session->call;
}

/* ---- Answers ---- */

size_t session_room(const struct session *session)
{
	size_t waits = session->out.bytes - session->out.taken;

	return waits < CONTROL_QUEUE_MAX ? CONTROL_QUEUE_MAX - waits : 0;
}

void session_queue(struct session *session, char *line)
{
	size_t bytes = line ? strlen(line) : 0;

	if (!session->conn) {
		free(line);
		return;
	}
	if (session->out.bytes == session->out.taken)
		session->since_ms = clock_ms();
	if (session->out.taken) {
		session->out.bytes -= session->out.taken;
		memmove(session->out.data, session->out.data + session->out.taken, session->out.bytes);
		session->out.taken = 0;
	}
	if (!line || !text_grow(session, &session->out, bytes)) {
		session->closes = true; /* what was queued before still goes out */
	} else {
		memcpy(session->out.data + session->out.bytes, line, bytes);
		session->out.bytes += bytes;
	}
	free(line);
}

static void queue_answer(struct session *session, int r, const struct error *err)
{
	struct call *call = &session->call;
	char *line;

	if (r < 0 && call->code == CONTROL_REFUSED)
		say_refused(session->conn, err->text);
	if (r == 0 && call->request.key && call->request.method->acts)
		recall_keep(&session->server->recall, call);
	line = r == 0 ? control_reply(call->request.id, TAKE(call->result))
		      : control_reply_error(call->request.id, call->code, err->text);
	if (!line)
		line = control_reply_error(call->request.id, CONTROL_LIMIT, "the answer is too long");
	session_queue(session, line);
	cJSON_Delete(TAKE(call->result));
	control_request_done(&call->request);
}

void session_answer(struct session *session, int r, const struct error *err)
{
	session->busy = false;
	queue_answer(session, r, err);
	go_on(session);
}

void session_subscribe(struct session *session, struct events *events)
{
	session->events = events;
	session->server->subscribed++;
}

/* ---- Requests ---- */

static void handle_line(struct session *session, const char *line, size_t bytes)
{
	struct call *call = &session->call;
	struct error err = { 0 };
	int r;

	*call = (struct call){ .server = session->server,
			       .session = session,
			       .caller = session->conn->caller };
	r = control_request_parse(line, bytes, session->conn->role, &call->request, &call->code, &err);
	if (r == 0) {
		call->code = CONTROL_INTERNAL;
		r = methods_run(call, &err);
	}
	if (r == CALL_LATER)
		session->busy = true;
	else
		queue_answer(session, r, &err);
}

/* One line of those that are there. False: there is none yet. */
static bool take_line(struct session *session)
{
	struct text *in = &session->in;
	char *from = in->data + in->taken, *end;
	size_t bytes = in->bytes - in->taken;

	end = bytes ? memchr(from, '\n', bytes) : NULL;
	if (!end && bytes < CONTROL_REQUEST_MAX) {
		if (!bytes) {
			text_clear(session, in);
		} else if (in->taken) {
			memmove(in->data, from, bytes);
			in->bytes = bytes;
			in->taken = 0;
		}
		return false;
	}
	bytes = end ? (size_t)(end - from) : bytes;
	if (!end)
		session->closes = true; /* it may never end */
	in->taken += bytes + (end != NULL);
	session->since_ms = clock_ms();
	handle_line(session, from, bytes);
	return true;
}

static void read_some(struct session *session)
{
	char chunk[CHUNK_BYTES];
	ssize_t n = session->conn->type->read(session->conn, chunk, sizeof(chunk));

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		session->ended = true;
		if (n < 0)
			session->closes = true;
		return;
	}
	if (session->events)
		return; /* a subscriber says no more; what it says is not heard */
	if (session->in.bytes == session->in.taken)
		session->since_ms = clock_ms();
	if (!text_grow(session, &session->in, (size_t)n)) {
		session->closes = session->ended = true;
		return;
	}
	memcpy(session->in.data + session->in.bytes, chunk, (size_t)n);
	session->in.bytes += (size_t)n;
}

static bool write_some(struct session *session)
{
	struct text *out = &session->out;
	ssize_t n;

	while (out->taken < out->bytes) {
		n = session->conn->type->write(session->conn, out->data + out->taken,
					       out->bytes - out->taken);
		if (n == -EAGAIN || n == -EINTR)
			return true;
		if (n < 0)
			return false;
		out->taken += (size_t)n;
		session->since_ms = clock_ms();
	}
	text_clear(session, out);
	return true;
}

static void set_interest(struct session *session)
{
	struct epoll_event event = { .data.ptr = &session->source };
	bool writes = session->out.bytes > session->out.taken;

	if (writes || (session->conn->type->wants_write && session->conn->type->wants_write(session->conn)))
		event.events |= EPOLLOUT;
	if (!session->ended && !session->busy && (!writes || session->events))
		event.events |= EPOLLIN;
	if (event.events == session->interest)
		return;
	session->interest = event.events;
	(void)epoll_ctl(session->server->epoll_fd, EPOLL_CTL_MOD, session->conn->fd, &event);
}

/* As far as it goes without waiting; may end the session. */
static void go_on(struct session *session)
{
	for (;;) {
		if (!session->conn)
			return;
		if (!write_some(session)) {
			session_end(session);
			return;
		}
		if (session->out.bytes || session->busy)
			break;
		if (session->closes) {
			session_end(session);
			return;
		}
		if (session->events || !take_line(session)) {
			if (session->ended) {
				session_end(session);
				return;
			}
			break;
		}
	}
	set_interest(session);
}

void session_flush(struct session *session)
{
	go_on(session);
}

static void session_ready(struct source *source, uint32_t events)
{
	struct session *session = (struct session *)source;
	struct conn *conn = session->conn;

	if (!conn)
		return;
	/* Writable with nothing to write: that is what a handshake waits for. */
	if ((events & EPOLLIN) || ((events & EPOLLOUT) && !session->out.bytes))
		read_some(session);
	while (!session->ended && conn->type->buffered && conn->type->buffered(conn) > 0 &&
	       session->in.bytes < CONTROL_REQUEST_MAX)
		read_some(session);
	if (session->events && !session->ended)
		events_pump(session->events);
	go_on(session);
	/* Both directions are gone: nobody will take an answer. */
	if (session->conn && (events & (EPOLLHUP | EPOLLERR)) && !(events & EPOLLIN))
		session_end(session);
}

static void drop(struct session *session, const char *why, unsigned seconds)
{
	event_send(&(struct event){ .id = EVENT_CLIENT_DROPPED, .client = session->conn->who },
		   "%s: dropped: %s within %u s", session->conn->who, why, seconds);
	session_end(session);
}

void session_check(struct session *session)
{
	if (!session->conn || !session->conn->type->is_revoked ||
	    !session->conn->type->is_revoked(session->conn))
		return;
	event_send(&(struct event){ .id = EVENT_CLIENT_DROPPED, .client = session->conn->who },
		   "%s: dropped: the certificate is revoked", session->conn->who);
	session_end(session);
}

void session_sweep(struct session *session, uint64_t now_ms)
{
	uint64_t waited_s = (now_ms - session->since_ms) / 1000;

	if (!session->conn)
		return;
	if (!session->conn->known) {
		if (waited_s >= CONTROL_REQUEST_S)
			drop(session, "no handshake", CONTROL_REQUEST_S);
	} else if (session->out.bytes) {
		if (waited_s >= CONTROL_REPLY_S)
			drop(session, "it took none of its answer", CONTROL_REPLY_S);
	} else if (session->busy) {
		return; /* steer has its own time-out */
	} else if (session->events) {
		events_pump(session->events);
		go_on(session);
	} else if (session->in.bytes) {
		if (waited_s < CONTROL_REQUEST_S)
			return;
		session->closes = true;
		session_queue(session,
			      control_reply_error(NULL, CONTROL_TIMEOUT, "the request took too long"));
		go_on(session);
	} else if (waited_s >= CONTROL_IDLE_S) {
		session_end(session);
	}
}
