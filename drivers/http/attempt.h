/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/http: one attempt at a request. attempt.c sets up a libcurl transfer, passes its bytes on
 * and tells the outcome. http.c, which calls it, has the loop, the queues and the retries.
 */
#pragma once

#include "drivers/http/http.h"
#include "drivers/http/sockets.h"

#include <stdatomic.h>

struct http_pending {
	struct http_request *first, *last;
};

struct http {
	struct http_options options;
	char *ca_file;
	CURLM *multi;
	struct sockets sockets; /* the multi handle's */
	CURL **idle; /* libcurl handles without a request; `handles` counts all handles, idle or not */
	uint32_t idle_count, handles;
	/* requests that wait for the limit or for a handle, in order of submission */
	struct http_pending waiting;
	struct http_pending active; /* requests in flight, the attempt that began first in front */
	uint32_t active_count;
	uint32_t connecting;          /* requests in flight that have no connection yet */
	uint64_t looked_ms;           /* clock_ms() of the last sockets_look() */
	struct http_request *delayed; /* requests between two attempts, sorted by due_ms */
	atomic_bool woken;            /* http_wake() was called since the last http_drive() with `wakes` */
	struct pace pace;
	uint64_t paced_bytes; /* value of counters.bytes_in at the last pace_look() */
	struct http_counters counters;
};

/* Sets libcurl's options for request->easy. Called after the handler's prepare(). */
void attempt_set_options(struct http_request *request);

/* Notes that the request has a connection, or needs none any more. */
void attempt_has_connection(struct http_request *request);

/* Returns the outcome of a transfer that ended with libcurl's `code`: 0, HTTP_AGAIN or a negative errno;
 * *ret_class is the class of the failure. */
int attempt_outcome(struct http_request *request, CURLcode code, enum retry_class *ret_class);
