/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/call/steer.h"
#include "core/base/clock.h"
#include "core/base/paths.h"

#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_BYTES 1024u
#define STEERS_MAX   8u
#define NOT_STARTED                                                                \
	"nothing listens there; start it with systemctl start kiln-steer.socket; " \
	"without systemd, tools/night starts a run"

struct steer {
	struct source source;
	struct steer *next;
	struct call *call;
	steer_done_fn *done;
	int fd;
	size_t bytes;
	uint64_t since_ms;
	char answer[ANSWER_BYTES];
};

/* Closes the connection and frees `steer`, but not the call, which its owner still needs. */
static void steer_free(struct steer *steer)
{
	struct steer **link = &steer->call->calls->steers;

	while (*link != steer)
		link = &(*link)->next;
	*link = steer->next;
	(void)close(steer->fd);
	free(steer);
}

static int verdict(struct steer *steer, struct error *err)
{
	steer->answer[strcspn(steer->answer, "\n")] = '\0';
	if (strcmp(steer->answer, "ok") == 0)
		return 0;
	steer->call->code = CONTROL_UNAVAILABLE;
	if (strncmp(steer->answer, "error ", 6) == 0)
		return error_set(err, -EIO, "kiln-steer: %s", steer->answer + 6);
	return error_set(err, -EIO,
			 "kiln-steer ended after %" PRIu64
			 " s without an answer; it may have acted, kiln log --unit steer tells",
			 (clock_ms() - steer->since_ms) / 1000);
}

static int time_out(struct steer *steer, struct error *err)
{
	steer->call->code = CONTROL_TIMEOUT;
	return error_set(err, -ETIMEDOUT, "kiln-steer: no answer within %u s; it may still act",
			 CONTROL_ACT_S);
}

static void steer_end(struct steer *steer, bool timed_out)
{
	struct call *call = steer->call;
	struct error err = { 0 };
	int r = timed_out ? time_out(steer, &err) : verdict(steer, &err);

	if (steer->done)
		r = steer->done(call, r, &err);
	steer_free(steer);
	call_end(call, r, &err);
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
				 errno == ENOENT || errno == ECONNREFUSED ? NOT_STARTED : strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

static int send_word(const char *word, int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char line[80];
	int bytes = snprintf(line, sizeof(line), "%s\n", word), r = dial(&fd, err);

	if (r < 0)
		return r;
	if (send(fd, line, (size_t)bytes, MSG_NOSIGNAL) != bytes)
		return error_set(err, -EIO, "kiln-steer: cannot send: %s", strerror(errno));
	*ret_fd = take_fd(&fd);
	return 0;
}

static size_t words_on_their_way(const struct calls *calls)
{
	size_t count = 0;

	for (const struct steer *steer = calls->steers; steer; steer = steer->next)
		count++;
	return count;
}

int steer_say(struct call *call, const char *word, steer_done_fn *done, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	struct steer *steer;
	size_t count = words_on_their_way(call->calls);
	int r;

	if (count >= STEERS_MAX) {
		call->code = CONTROL_LIMIT;
		return error_set(err, -EBUSY, "%zu requests wait for kiln-steer already", count);
	}
	call->code = CONTROL_UNAVAILABLE;
	if ((r = send_word(word, &fd, err)) < 0)
		return r;
	steer = calloc(1, sizeof(*steer));
	if (!steer)
		return error_set(err, -ENOMEM, "no memory for a word to kiln-steer");
	steer->source.ready = steer_ready;
	r = loop_add(call->calls->loop, fd, &steer->source, EPOLLIN);
	if (r < 0) {
		free(steer);
		return error_set(err, r, "kiln-steer: %s", strerror(-r));
	}
	steer->fd = take_fd(&fd);
	steer->call = call;
	steer->done = done;
	steer->since_ms = clock_ms();
	steer->next = call->calls->steers;
	call->calls->steers = steer;
	return CALL_LATER;
}

int steer_join(struct call *call, struct error *err)
{
	struct steer *steer = call->calls->steers;
	struct call *earlier;

	while (steer &&
	       !recall_is_same(steer->call->caller, &steer->call->request, call->caller, &call->request))
		steer = steer->next;
	if (!steer)
		return 0;
	earlier = steer->call;
	if (earlier->client) {
		call->code = CONTROL_STATE;
		return error_set(err, -EALREADY,
				 "%s: the earlier request with this idempotency_key is still at work",
				 call->request.method->name);
	}
	call->result = TAKE(earlier->result);
	call_free(earlier);
	steer->call = call;
	return CALL_LATER;
}

void steer_sweep(struct calls *calls, uint64_t now_ms)
{
	struct steer *next;

	for (struct steer *steer = calls->steers; steer; steer = next) {
		next = steer->next;
		if (now_ms - steer->since_ms >= CONTROL_ACT_S * 1000u)
			steer_end(steer, true);
	}
}

void steer_done(struct calls *calls)
{
	while (calls->steers) {
		struct call *call = calls->steers->call;

		steer_free(calls->steers);
		call_free(call);
	}
}
