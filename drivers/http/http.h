/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to one endpoint over one libcurl multi handle, several at once. Connections are used again;
 * as many requests run at once as the endpoint's pace allows (pace.h); a failed attempt waits in a timer
 * queue for the next attempt while other requests go on (retry.h). Each new connection looks the name up and
 * uses one of its addresses at random, so load spreads over an endpoint's addresses; an address that does not
 * answer is passed over.
 *
 *     http.c      the loop, and what follows an attempt
 *     pending.c   requests that wait
 *     attempt.c   one attempt: libcurl's options, bytes, outcome
 *     pace.c      how many at once           retry.c   which failures may pass
 *     range.c     Content-Range              times.h   how far a request is
 *
 * Threads: one, the owner's. Only http_wake() may be called from others.
 * Order: http_open -> (http_submit -> http_drive until handler->done)* -> http_close.
 * Memory: our own code allocates nothing a request, apart from libcurl's header lists. Nothing here lives
 * beyond the process.
 *
 * A request is the owner's memory until handler->done(). For each attempt: prepare() says what to send; on a
 * 2xx answer head() sees the headers before the first byte of the body, which goes to data(), or straight
 * into `buffer`; judge() sees the whole answer. Redirects are not followed here: judge() returns HTTP_AGAIN
 * after it changed what prepare() will send.
 */
#pragma once

#include "core/base/error.h"
#include "drivers/http/pace.h"
#include "drivers/http/times.h"

#define HTTP_URL_BYTES   16384u
#define HTTP_REPLY_BYTES 4096u
#define HTTP_AGAIN       1

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_DELETE, HTTP_METHOD_MAX };

struct http_options {
	uint32_t connections;        /* concurrent requests: at the beginning, and the lower bound */
	uint32_t connections_max;    /* upper bound */
	uint64_t target_bytes_per_s; /* no more requests are tried at this rate; 0 = no such rate */
	uint32_t attempts_max;
	/* A server that gives no answer, or asks to come later, usually comes back: such a request is tried
	 * again for this long after its first failure, beyond attempts_max if need be. */
	uint64_t patience_ms;
	uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s;
	const char *ca_file; /* "" = the environment's CURL_CA_BUNDLE or SSL_CERT_FILE, else the system's */
	bool http2;
};

struct http_counters {
	uint64_t requests, bytes_in, bytes_out, connections;
	uint64_t retries[RETRY_MAX]; /* by enum retry_class */
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
	/* Or NULL: `data` was put into the buffer, after the `received` bytes before. */
	void (*arrived)(struct http_request *request, const char *data, size_t bytes);
	/* Returns 0, HTTP_AGAIN, or a negative errno. After an error *retry decides whether to try again; it
	 * comes in as the status alone suggests. */
	int (*judge)(struct http_request *request, enum retry_class *retry, struct error *err);
	/* The last call. May submit other requests, except when `result` is -ECANCELED. */
	void (*done)(struct http_request *request, int result, const struct error *err);
};

struct http_request {
	/* Set before http_submit(). */
	const struct http_handler *handler;
	char *buffer;             /* receives the body where data() is NULL */
	uint64_t buffer_bytes;    /* size of `buffer`; a longer body is -EBADMSG */
	bool patient;             /* the server may work for minutes before it answers */
	bool urgent;              /* goes before all that wait, beyond the pace if need be */
	struct http_times *times; /* or NULL: filled while the request is in flight */

	/* Set by prepare(). */
	enum http_method method;
	char url[HTTP_URL_BYTES];
	const char *body; /* or NULL: from body_fd at body_offset */
	int body_fd;
	uint64_t body_offset, body_bytes;

	/* The answer. */
	long status;
	uint64_t received;            /* bytes of a 2xx body */
	char reply[HTTP_REPLY_BYTES]; /* the beginning of any other body, NUL-terminated */
	uint32_t reply_bytes;
	uint32_t failures;   /* attempts that failed; redirects do not count */
	uint64_t started_us; /* the attempt in flight */

	/* For drivers/http alone. */
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	uint64_t body_sent, reply_seen, due_ms, not_before_ms, failed_ms;
	bool head_seen;
	int stopped; /* the error of head() or data() */
	struct error err;
	struct http_request *next;
	char curl_text[CURL_ERROR_SIZE];
};

MUST_CHECK int http_open(const struct http_options *options, struct http **ret_http, struct error *err);
/* Cancels what is in flight. Accepts NULL. */
void http_close(struct http *http);
void http_closep(struct http **http);

void http_submit(struct http *http, struct http_request *request);
/* Moves requests on until *until is true, `timeout_ms` have passed, or, with `wakes`, http_wake() is called.
 */
MUST_CHECK int http_drive(struct http *http, uint32_t timeout_ms, const bool *until, bool wakes,
			  struct error *err);
/* Makes a sleeping http_drive() with `wakes` return, or the next one. Any thread may call. */
void http_wake(struct http *http);
/* Gives up every request: each gets done(-ECANCELED) before this returns. */
void http_cancel_all(struct http *http);
/* Gives up one request that is not done: its memory is the owner's again, without done(). */
void http_drop(struct http *http, struct http_request *request);
/* The requests in flight, linked by `next`, the attempt that began first in front. Valid until the next call.
 */
struct http_request *http_in_flight(const struct http *http);
/* Whether nothing failed lately: the pace is not reduced. */
bool http_calm(const struct http *http);

struct http_counters http_counters_of(const struct http *http);
const char *http_method_name(enum http_method method);

/* Adds a header to send. Only in prepare(). */
MUST_CHECK int http_add_header(struct http_request *request, struct error *err, const char *format, ...)
	PRINTF(3, 4);
/* A header of the answer, or "". Only in head() and judge(); valid until that function returns. */
const char *http_header(const struct http_request *request, const char *name);
