/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One word to kiln-steer, the only one that may act on systemd; one line back: "ok", or "error " and why.
 * Nothing here waits.
 */
#include "controld/controld.h"
#include "core/base/clock.h"
#include "core/base/paths.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_BYTES 1024u
#define STEERS_MAX   8u

struct steer {
	struct source source;
	struct server *server;
	struct steer *next;
	struct session *session; /* NULL: it left, and the word was said all the same */
	struct call left;        /* by it; who asks again with the same key gets the answer */
	int (*done)(struct call *call, int r, struct error *err);
	int fd;
	size_t bytes;
	uint64_t since_ms;
	char answer[ANSWER_BYTES];
};

static void steer_free(struct steer *steer)
{
	struct steer **link = &steer->server->steers;

	while (*link != steer)
		link = &(*link)->next;
	*link = steer->next;
	control_request_done(&steer->left.request);
	cJSON_Delete(steer->left.result);
	(void)close(steer->fd);
	free(steer);
}

static int verdict(struct steer *steer, struct call *call, struct error *err)
{
	steer->answer[strcspn(steer->answer, "\n")] = '\0';
	if (strcmp(steer->answer, "ok") == 0)
		return 0;
	call->code = CONTROL_UNAVAILABLE;
	return error_set(err, -EIO, "kiln-steer: %s",
			 strncmp(steer->answer, "error ", 6) == 0 ? steer->answer + 6 : "no answer");
}

static void steer_end(struct steer *steer, bool timed_out)
{
	struct session *session = steer->session;
	struct call *call = session ? session_call(session) : &steer->left;
	struct error err = { 0 };
	int r;

	if (timed_out) {
		call->code = CONTROL_TIMEOUT;
		r = error_set(&err, -ETIMEDOUT, "kiln-steer: no answer within %u s; it may still act",
			      CONTROL_ACT_S);
	} else {
		r = verdict(steer, call, &err);
	}
	if (steer->done)
		r = steer->done(call, r, &err);
	if (!session && r == 0 && call->request.key)
		recall_keep(&steer->server->recall, call);
	steer_free(steer);
	if (session)
		session_answer(session, r, &err);
}

static void steer_ready(struct source *source, uint32_t events)
{
	struct steer *steer = (struct steer *)source;
	ssize_t n =
		recv(steer->fd, steer->answer + steer->bytes, ANSWER_BYTES - 1 - steer->bytes, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		steer->bytes += (size_t)n;
		if (!memchr(steer->answer, '\n', steer->bytes) && steer->bytes < ANSWER_BYTES - 1)
			return;
	}
	steer_end(steer, false);
}

static int dial(int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char path[PATH_BYTES];

	(void)path_of(PATH_STEER, NULL, path);
	if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s: no socket for it", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return error_set(err, -errno, "kiln-steer cannot be reached at %s: %s", path,
				 strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

int steer_say(struct call *call, const char *word, int (*done)(struct call *call, int r, struct error *err),
	      struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct steer *steer;
	size_t count = 0;
	char line[64];
	int bytes = snprintf(line, sizeof(line), "%s\n", word), r;

	for (steer = call->server->steers; steer; steer = steer->next)
		count++;
	if (count >= STEERS_MAX) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%zu requests wait for kiln-steer already", count);
	}
	call->code = CONTROL_UNAVAILABLE;
	if ((r = dial(&fd, err)) < 0)
		return r;
	if (send(fd, line, (size_t)bytes, MSG_NOSIGNAL) != bytes)
		return error_set(err, -EIO, "kiln-steer: cannot send: %s", strerror(errno));
	steer = calloc(1, sizeof(*steer));
	if (!steer)
		return error_set(err, -ENOMEM, "no memory for a word to kiln-steer");
	steer->source.ready = steer_ready;
	r = server_add(call->server, fd, &steer->source, EPOLLIN);
	if (r < 0) {
		free(steer);
		return error_set(err, r, "kiln-steer: %s", strerror(-r));
	}
	steer->fd = take_fd(&fd);
	steer->server = call->server;
	steer->session = call->session;
	steer->done = done;
	steer->since_ms = clock_ms();
	steer->next = call->server->steers;
	call->server->steers = steer;
	return CALL_LATER;
}

void steer_forget(struct server *server, struct session *session)
{
	struct steer *next;

	for (struct steer *steer = server->steers; steer; steer = next) {
		next = steer->next;
		if (!session)
			steer_free(steer);
		else if (steer->session == session) {
			struct call *call = session_call(steer->session);

			steer->session = NULL;
			steer->left = *call;
			*call = (struct call){ 0 };
		}
	}
}

int steer_join(struct call *call, struct error *err)
{
	struct steer *steer = call->server->steers;

	while (steer && !recall_is_same(steer->session ? session_call(steer->session) : &steer->left, call))
		steer = steer->next;
	if (!steer)
		return 0;
	if (steer->session) {
		call->code = CONTROL_STATE;
		return error_set(err, -EALREADY, "%s: the request of this key is still at work",
				 call->request.method->name);
	}
	steer->session = call->session;
	call->result = TAKE(steer->left.result);
	control_request_done(&steer->left.request);
	return CALL_LATER;
}

void steer_sweep(struct server *server, uint64_t now_ms)
{
	struct steer *next;

	for (struct steer *steer = server->steers; steer; steer = next) {
		next = steer->next;
		if (now_ms - steer->since_ms >= CONTROL_ACT_S * 1000u)
			steer_end(steer, true);
	}
}
