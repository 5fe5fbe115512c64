/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "drivers/http/attempt.h"
#include "drivers/http/pending.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define CONNECT_LOOK_MS 10
#define URGENT_MAX      2u /* libcurl handles beyond connections_max, for urgent requests */

/* ---- Open and close ---- */

static void init_curl(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* Makes one more libcurl handle. The number of handles grows with the limit, up to connections_max +
 * URGENT_MAX. */
static bool more_handles(struct http *http)
{
	CURL *easy = http->handles < http->options.connections_max + URGENT_MAX ? curl_easy_init() : NULL;

	if (easy) {
		http->idle[http->idle_count++] = easy;
		http->handles++;
	}
	return easy;
}

static int no_memory(const struct http *http, struct error *err)
{
	return error_set(err, -ENOMEM, "no memory for %" PRIu32 " HTTP connections",
			 http->options.connections);
}

static int open_handles(struct http *http, struct error *err)
{
	uint32_t most = http->options.connections_max + URGENT_MAX;

	http->idle = calloc(most, sizeof(CURL *));
	http->multi = curl_multi_init();
	if (!http->idle || !http->multi)
		return no_memory(http, err);
	while (http->handles < http->options.connections)
		if (!more_handles(http))
			return no_memory(http, err);
	(void)curl_multi_setopt(http->multi, CURLMOPT_PIPELINING,
				http->options.http2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)most);
	return sockets_open(&http->sockets, http->multi, err);
}

/* The curl tool reads these environment variables, but libcurl does not: it reads only those for proxies. */
static const char *default_ca_file(void)
{
	static const char *const names[] = { "CURL_CA_BUNDLE", "SSL_CERT_FILE" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && value[0])
			return value;
	}
	return "";
}

int http_open(const struct http_options *options, struct http **ret_http, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CLEANUP(http_closep) struct http *http = calloc(1, sizeof(*http));
	int r;

	(void)pthread_once(&once, init_curl);
	if (!http)
		return error_set(err, -ENOMEM, "no memory for HTTP connections");
	http->options = *options;
	if (http->options.connections_max < http->options.connections)
		http->options.connections_max = http->options.connections;
	pace_init(&http->pace, http->options.connections, http->options.connections_max,
		  http->options.target_bytes_per_s);
	http->ca_file =
		strdup(options->ca_file && options->ca_file[0] ? options->ca_file : default_ca_file());
	r = http->ca_file ? open_handles(http, err) : no_memory(http, err);
	if (r < 0)
		return r;
	*ret_http = TAKE(http);
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	if (http->multi)
		http_cancel_all(http);
	while (http->idle_count)
		curl_easy_cleanup(http->idle[--http->idle_count]);
	(void)curl_multi_cleanup(http->multi);
	sockets_close(&http->sockets);
	free(http->idle);
	free(http->ca_file);
	free(http);
}

void http_closep(struct http **http)
{
	http_close(*http);
}

struct http_counters http_counters_of(const struct http *http)
{
	struct http_counters counters = http->counters;

	counters.at_once = pace_limit(&http->pace, clock_us());
	counters.pace = pace_reason(&http->pace, clock_us());
	return counters;
}

bool http_calm(const struct http *http)
{
	return !http->pace.failures && pace_limit(&http->pace, clock_us()) == http->pace.full;
}

struct http_request *http_in_flight(const struct http *http)
{
	return http->active.first;
}

/* ---- Attempts ---- */

static void finish(struct http_request *request, int result)
{
	/* A copy of the error: done() may free the request or submit it again. */
	struct error err = request->err;

	request->handler->done(request, result, &err);
}

static void forget_headers(struct http_request *request)
{
	curl_slist_free_all(request->headers);
	request->headers = NULL;
}

static void start(struct http *http, struct http_request *request)
{
	int r;

	request->status = 0;
	request->received = request->body_sent = request->headers_seen = request->reply_seen = 0;
	request->reply_bytes = 0;
	request->reply[0] = 0;
	request->head_seen = false;
	request->stopped = 0;
	request->curl_text[0] = 0;
	request->err = (struct error){ 0 };
	r = request->handler->prepare(request, &request->err);
	/* An empty "Expect:" prevents libcurl's "Expect: 100-continue", which would cost a round trip, or a
	 * second where the server ignores it. */
	if (r == 0)
		r = http_add_header(request, &request->err, "Expect:");
	if (r < 0) {
		forget_headers(request);
		finish(request, r);
		return;
	}
	http->counters.requests++;
	request->started_us = clock_us();
	if (request->times)
		*request->times =
			(struct http_times){ .first_us = request->times->first_us ? request->times->first_us
										  : request->started_us,
					     .sent_us = request->started_us };
	request->easy = http->idle[--http->idle_count];
	attempt_set_options(request);
	request->connecting = true;
	http->connecting++;
	pending_append(&http->active, request);
	http->active_count++;
	(void)curl_multi_add_handle(http->multi, request->easy);
}

static void detach(struct http *http, struct http_request *request)
{
	(void)curl_multi_remove_handle(http->multi, request->easy);
	attempt_has_connection(request);
	http->idle[http->idle_count++] = request->easy;
	request->easy = NULL;
	pending_remove(&http->active, request);
	http->active_count--;
	forget_headers(request);
}

/* ---- After an attempt ---- */

static bool may_try_again(const struct http *http, const struct http_request *request, enum retry_class class)
{
	bool passes = class == RETRY_CONNECT || class == RETRY_TIMEOUT || class == RETRY_RESET ||
		      class == RETRY_SLOW_DOWN;

	if (class == RETRY_NEVER || (request->once && class != RETRY_CONNECT && class != RETRY_SLOW_DOWN))
		return false;
	return request->failures < http->options.attempts_max ||
	       (passes && clock_ms() - request->failed_ms < http->options.patience_ms);
}

static void end_attempt(struct http *http, struct http_request *request, CURLcode code)
{
	enum retry_class class;
	curl_off_t retry_after_s = 0;
	long connects = 0;
	int r = attempt_outcome(request, code, &class);

	if (pace_ended(&http->pace, r < 0, class, request->started_us, clock_us()))
		pending_hurry(http);
	(void)curl_easy_getinfo(request->easy, CURLINFO_NUM_CONNECTS, &connects);
	(void)curl_easy_getinfo(request->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	http->counters.connections += (uint64_t)connects;
	detach(http, request);
	if (r < 0 && request->failures++ == 0)
		request->failed_ms = clock_ms();
	if (r == HTTP_AGAIN) {
		pending_append(&http->waiting, request);
	} else if (r < 0 && may_try_again(http, request, class)) {
		http->counters.retries[class]++;
		pending_again(http, request, retry_after_s > 0 ? (uint64_t)retry_after_s : 0);
	} else {
		if (r < 0 && request->failures > 1)
			(void)error_prefix(&request->err, "after %" PRIu32 " attempts", request->failures);
		finish(request, r);
	}
}

/* ---- Driving ---- */

void http_submit(struct http *http, struct http_request *request)
{
	request->http = http;
	request->failures = 0;
	request->easy = NULL;
	request->headers = NULL;
	if (request->urgent)
		pending_prepend(&http->waiting, request);
	else
		pending_append(&http->waiting, request);
}

/* Returns whether the first waiting request may start. An urgent one may exceed the limit, but needs a
 * handle. */
static bool may_start(struct http *http, uint32_t limit)
{
	const struct http_request *first = http->waiting.first;

	return first && (http->active_count < limit || first->urgent) &&
	       (http->idle_count || more_handles(http));
}

static void start_due(struct http *http)
{
	uint64_t now_us = clock_us();
	uint32_t limit = pace_limit(&http->pace, now_us);

	while (http->delayed && http->delayed->due_ms <= now_us / 1000) {
		struct http_request *request = http->delayed;

		http->delayed = request->next;
		/* in front: this request was submitted before those that wait */
		pending_prepend(&http->waiting, request);
	}
	while (may_start(http, limit))
		start(http, pending_pop(&http->waiting));
	pace_look(&http->pace, http->counters.bytes_in - http->paced_bytes,
		  http->waiting.first && http->active_count >= limit, now_us);
	http->paced_bytes = http->counters.bytes_in;
}

static void end_finished(struct http *http)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left))) {
		struct http_request *request = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
		end_attempt(http, request, message->data.result);
	}
}

static int poll_ms(struct http *http, uint64_t now, uint64_t deadline)
{
	uint64_t until = deadline, now_us = clock_us(), rises_us;

	if (may_start(http, pace_limit(&http->pace, now_us)))
		return 0;
	rises_us = http->waiting.first ? pace_rises_us(&http->pace, now_us) : UINT64_MAX;
	if (rises_us != UINT64_MAX && rises_us / 1000 + 1 < until)
		until = rises_us / 1000 + 1;
	if (http->delayed && http->delayed->due_ms < until)
		until = http->delayed->due_ms;
	return until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

/* Waits, sends and receives. While a request has no connection, libcurl looks at all of them from time to
 * time: sockets.h says why. */
static int run(struct http *http, int wait_ms, struct error *err)
{
	const int most_ms = http->connecting ? CONNECT_LOOK_MS : wait_ms;
	const int r = sockets_run(&http->sockets, wait_ms < most_ms ? wait_ms : most_ms, err);

	if (r < 0 || !http->connecting || clock_ms() - http->looked_ms < CONNECT_LOOK_MS)
		return r;
	http->looked_ms = clock_ms();
	return sockets_look(&http->sockets, err);
}

int http_drive(struct http *http, uint32_t timeout_ms, const bool *until, bool wakes, struct error *err)
{
	uint64_t now = clock_ms(), deadline = now + timeout_ms;

	for (;;) {
		int wait_ms, r;

		start_due(http);
		wait_ms = *until || (wakes && atomic_load_explicit(&http->woken, memory_order_relaxed))
				  ? 0
				  : poll_ms(http, now, deadline);
		r = run(http, wait_ms, err);
		if (r < 0)
			return r;
		end_finished(http);
		now = clock_ms();
		/* acquire, pairs with the release in http_wake(): what the other thread wrote before its
		 * http_wake() is visible here. */
		if (*until || now >= deadline ||
		    (wakes && atomic_exchange_explicit(&http->woken, false, memory_order_acquire)))
			return 0;
	}
}

void http_wake(struct http *http)
{
	/* release, pairs with the acquire in http_drive(): http_drive() sees what this thread wrote before.
	 * Whoever finds the flag set leaves the wake-up to the thread that set it. */
	if (!atomic_exchange_explicit(&http->woken, true, memory_order_release))
		sockets_wake(&http->sockets);
}

static void cancel(struct http_request *request)
{
	finish(request, error_set(&request->err, -ECANCELED, "given up"));
}

void http_cancel_all(struct http *http)
{
	struct http_request *request;

	while ((request = http->active.first)) {
		detach(http, request);
		cancel(request);
	}
	while ((request = pending_pop(&http->waiting)))
		cancel(request);
	while ((request = http->delayed)) {
		http->delayed = request->next;
		cancel(request);
	}
}

void http_drop(struct http *http, struct http_request *request)
{
	struct http_request **at = &http->delayed;

	if (request->easy) {
		detach(http, request);
		return;
	}
	while (*at && *at != request)
		at = &(*at)->next;
	if (*at)
		*at = request->next;
	else
		pending_remove(&http->waiting, request);
}
