/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to one endpoint over one libcurl multi handle, several at once. Connections are used again
 * for later requests; the endpoint's pace (pace.h) limits how many requests run at once; a failed attempt
 * waits in a timer queue for the next attempt while other requests go on (retry.h). For each new connection
 * the endpoint's name is looked up and one of its addresses is chosen at random, so the load spreads over all
 * addresses; after an address that does not answer the next one is tried.
 *
 *     http.c      the loop, and what follows an attempt
 *     pending.c   requests that wait         sockets.c which sockets and timers are due
 *     attempt.c   one attempt: libcurl's options, bytes, outcome
 *     pace.c      how many at once           retry.c   which failures may pass
 *     range.c     Content-Range              times.h   how far a request is
 *
 * Threads: one, the owner's. Only http_wake() may be called from others.
 * Order: http_open -> (http_submit -> http_drive until handler->done)* -> http_close.
 * Memory: for a request our own code allocates nothing but libcurl's header lists. Crash: nothing is stored.
 *
 * The caller owns the memory of a request and must not free it before handler->done(). For each attempt:
 * prepare() says what to send; on a 2xx answer head() sees the headers before the first byte of the body,
 * which goes to data(), or straight into `buffer`; judge() sees the whole answer. Redirects are not followed
 * here: judge() returns HTTP_AGAIN after it changed what prepare() will send.
 *
 * An answer that head(), data() or judge() refuses with -EBADMSG (it makes no sense) or -ENONET (something on
 * the network answers in the server's place) is asked for again, up to attempts_max attempts.
 */
#pragma once

#include "core/base/error.h"
#include "drivers/http/pace.h"
#include "drivers/http/times.h"

#define HTTP_URL_BYTES   16384u
#define HTTP_REPLY_BYTES 4096u
/* Upper bound of the headers of an answer, with those of interim answers, of a proxy and of chunk trailers.
 * S3 allows 2 KiB of metadata per object. */
#define HTTP_HEADERS_MAX 65536u
#define HTTP_AGAIN       1

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE, HTTP_METHOD_MAX };

struct http_options {
	uint32_t connections;     /* concurrent requests at the beginning; also the lower bound */
	uint32_t connections_max; /* upper bound of concurrent requests */
	/* at this rate the number of requests is not raised further; 0 = no such rate */
	uint64_t target_bytes_per_s;
	uint32_t attempts_max;
	/* A server that gives no answer, or asks the client to come later, usually recovers. A request that
	 * failed in this way is tried again for this long after its first failure, even after attempts_max
	 * attempts. */
	uint64_t patience_ms;
	uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s;
	uint64_t attempt_ms; /* longest time of one attempt; 0 = no limit */
	/* "" = the file that the environment variable CURL_CA_BUNDLE or SSL_CERT_FILE names, else the
	 * system's */
	const char *ca_file;
	bool http2;
};

struct http_counters {
	uint64_t requests, bytes_in, bytes_out, connections;
	uint64_t retries[RETRY_MAX]; /* indexed by enum retry_class */
	uint32_t at_once;            /* upper bound of concurrent requests now ... */
	const char *pace;            /* ... and the reason for it */
};

struct http;
struct http_request;

struct http_handler {
	int (*prepare)(struct http_request *request, struct error *err);
	int (*head)(struct http_request *request, struct error *err); /* or NULL */
	int (*data)(struct http_request *request, const char *data, size_t bytes,
		    struct error *err); /* or NULL */
	/* Or NULL. Called each time `bytes` bytes of the body were appended to request->buffer; `data` is
	 * libcurl's copy of them, and request->received does not count them yet. */
	void (*arrived)(struct http_request *request, const char *data, size_t bytes);
	/* Returns 0, HTTP_AGAIN, or a negative errno. After an error *retry tells whether another attempt may
	 * help: judge() finds there the class that belongs to the HTTP status, and may change it. Where
	 * judge() leaves RETRY_NEVER there, the errno decides (retry_class_of_refusal()). */
	int (*judge)(struct http_request *request, enum retry_class *retry, struct error *err);
	/* Called last, once. May submit other requests, except when `result` is -ECANCELED. */
	void (*done)(struct http_request *request, int result, const struct error *err);
};

struct http_request {
	/* The caller sets these before http_submit(). */
	const struct http_handler *handler;
	char *buffer;          /* receives the body where the handler has no data() */
	uint64_t buffer_bytes; /* size of `buffer`; a longer body is -EBADMSG */
	bool patient;          /* the server may work for minutes before it answers */
	/* The server must not get the request twice: no other attempt follows one that it may have carried
	 * out. After a failed connection, 429 and 503 it has not. */
	bool once;
	/* Only the status counts: a 2xx answer is complete with its head, and its body is not read. An answer
	 * with another status that is cut in its body goes to judge(), too. */
	bool status_only;
	/* starts before all waiting requests, and although the pace's limit is reached */
	bool urgent;
	struct http_times *times; /* NULL, or where to note the times of the request's steps */

	/* The handler's prepare() sets these. */
	enum http_method method;
	char url[HTTP_URL_BYTES];
	const char *body; /* NULL: the body is read from body_fd, from body_offset on */
	int body_fd;
	uint64_t body_offset, body_bytes;

	/* The answer, set by drivers/http. */
	long status;
	uint64_t received; /* bytes of a 2xx body */
	/* the beginning of the body of an answer that is not 2xx, NUL-terminated */
	char reply[HTTP_REPLY_BYTES];
	uint32_t reply_bytes;
	uint32_t failures;   /* failed attempts; redirects do not count */
	uint64_t started_us; /* clock_us() when the newest attempt began */

	/* Members for drivers/http only. */
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	uint64_t body_sent, headers_seen, reply_seen, due_ms, not_before_ms, failed_ms;
	bool head_seen, connecting;
	int stopped; /* the error with which head() or data() stopped the transfer */
	struct error err;
	struct http_request *next;
	char curl_text[CURL_ERROR_SIZE];
};

MUST_CHECK int http_open(const struct http_options *options, struct http **ret_http, struct error *err);
/* Drops all requests and frees `http`. Accepts NULL. */
void http_close(struct http *http);
void http_closep(struct http **http);

void http_submit(struct http *http, struct http_request *request);
/* Sends and receives until *until is true or `timeout_ms` have passed. With `wakes` also http_wake() ends it.
 */
MUST_CHECK int http_drive(struct http *http, uint32_t timeout_ms, const bool *until, bool wakes,
			  struct error *err);
/* Makes the current, else the next http_drive() with `wakes` return. Any thread may call. */
void http_wake(struct http *http);
/* Cancels every request: calls done() of each with -ECANCELED before it returns. */
void http_cancel_all(struct http *http);
/* Cancels one unfinished request without calling its done(). Afterwards the caller may free the request. */
void http_drop(struct http *http, struct http_request *request);
/* Returns the requests in flight, linked by `next`, the attempt that began first in front. The list is valid
 * until the next call of this module.
 */
struct http_request *http_in_flight(const struct http *http);
/* Returns whether the endpoint works normally: the pace has not reduced the limit because of failures. */
bool http_calm(const struct http *http);

struct http_counters http_counters_of(const struct http *http);
const char *http_method_name(enum http_method method);

/* Adds a header to send. Only prepare() may call it. Errors: -EBADMSG a control character, which could end
 * the header and begin another one; -EINVAL too long; -ENOMEM. */
MUST_CHECK int http_add_header(struct http_request *request, struct error *err, const char *format, ...)
	PRINTF(3, 4);
/* Returns a header of the answer, or "". Only head() and judge() may call it; the text is valid until they
 * return. */
const char *http_header(const struct http_request *request, const char *name);
