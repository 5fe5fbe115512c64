/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP requests to one endpoint over one libcurl multi handle: connections are kept and used again, as many
 * requests run at once as the endpoint's pace (pace.h) says, and a failed attempt waits in a timer queue for
 * its next one while the others go on. Each new connection looks the name up and takes one of its addresses
 * at random; one that does not answer is passed over for the next.
 *
 * Order: http_open -> (http_submit -> http_drive until handler->done)* -> http_close. One thread; only
 * http_wake() may be called from others. Our own code allocates nothing a request, apart from libcurl's
 * header lists.
 *
 * A request is the owner's memory until handler->done(). For each attempt: prepare() says what to send; on a
 * 2xx answer head() sees the headers before the first byte of the body, which goes to data(), or straight
 * into `buffer`; judge() sees the whole answer. Redirects are not followed here: judge() returns HTTP_AGAIN
 * after changing what prepare() does.
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
	uint32_t connections;        /* at once, to begin with and at least ... */
	uint32_t connections_max;    /* ... and at most */
	uint64_t target_bytes_per_s; /* a rate that is enough; 0 = none is */
	uint32_t attempts_max;
	/* A server that gives no answer, or asks to come later, is there again some time: a request is not
	 * given up before so long after its first failure, however many attempts that takes. */
	uint64_t patience_ms;
	uint64_t connect_timeout_ms, low_speed_bytes_per_s, low_speed_s;
	const char *ca_file; /* "" = the environment's CURL_CA_BUNDLE or SSL_CERT_FILE, else the system's */
	bool http2;
};

struct http_counters {
	uint64_t requests, bytes_in, bytes_out, connections;
	uint64_t retries[RETRY_MAX]; /* by enum retry_class */
	uint32_t at_once;            /* the pace now ... */
	const char *pace;            /* ... and why it is that */
};

struct http;
struct http_request;

struct http_handler {
	int (*prepare)(struct http_request *request, struct error *err);
	int (*head)(struct http_request *request, struct error *err); /* or NULL */
	int (*data)(struct http_request *request, const char *data, size_t bytes,
		    struct error *err); /* or NULL */
	/* Or NULL: `data` was put into the buffer, behind the `received` bytes before it. */
	void (*arrived)(struct http_request *request, const char *data, size_t bytes);
	/* 0, HTTP_AGAIN, or a negative errno; then *retry, which comes in as the status alone suggests,
	 * decides. */
	int (*judge)(struct http_request *request, enum retry_class *retry, struct error *err);
	/* The last call. May submit other requests, except when `result` is -ECANCELED. */
	void (*done)(struct http_request *request, int result, const struct error *err);
};

struct http_request {
	/* Set before http_submit(). */
	const struct http_handler *handler;
	char *buffer; /* of `buffer_bytes`, where data() is NULL; a longer body is -EBADMSG */
	uint64_t buffer_bytes;
	bool patient;             /* the server may think for minutes before it answers */
	bool urgent;              /* before all that wait, beyond the pace if need be */
	struct http_times *times; /* or NULL: filled as it goes on */

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

	/* http.c's. */
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	uint64_t body_sent, reply_seen, due_ms, not_before_ms, failed_ms;
	bool head_seen;
	int stopped; /* what head() or data() returned */
	struct error err;
	struct http_request *next;
	char curl_text[CURL_ERROR_SIZE];
};

MUST_CHECK int http_open(const struct http_options *options, struct http **ret_http, struct error *err);
/* Cancels what is in flight. Accepts NULL. */
void http_close(struct http *http);
void http_closep(struct http **http);

void http_submit(struct http *http, struct http_request *request);
/* Move requests on until *until is true or `timeout_ms` have passed, or, where `wakes`, http_wake() was
 * called. */
MUST_CHECK int http_drive(struct http *http, uint32_t timeout_ms, const bool *until, bool wakes,
			  struct error *err);
/* Make a sleeping http_drive() that wakes, or the next one, return. Any thread. */
void http_wake(struct http *http);
/* Every request gets done(-ECANCELED) before this returns. */
void http_cancel_all(struct http *http);
/* One that was submitted and is not done: its memory is the owner's again, without done(). */
void http_drop(struct http *http, struct http_request *request);
/* Those in flight, the one begun first first, linked by `next`; good until the next call. */
struct http_request *http_in_flight(const struct http *http);
/* Nothing went wrong lately: the pace is the full one. */
bool http_calm(const struct http *http);

struct http_counters http_counters_of(const struct http *http);
const char *http_method_name(enum http_method method);

/* In prepare(): add a header to send. */
MUST_CHECK int http_add_header(struct http_request *request, struct error *err, const char *format, ...)
	PRINTF(3, 4);
/* In head() and judge(): a header of the answer, or "". Valid until the function returns. */
const char *http_header(const struct http_request *request, const char *name);
