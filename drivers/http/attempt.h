/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/http: one attempt at a request. attempt.c sets a libcurl transfer up, moves its bytes and
 * tells the outcome; http.c, above, holds the loop, the queues and the retries.
 */
#pragma once

#include "drivers/http/http.h"

#include <stdatomic.h>

struct http_pending {
	struct http_request *first, *last;
};

struct http {
	struct http_options options;
	char *ca_file;
	CURLM *multi;
	CURL **idle; /* handles without a request; `handles` = all that were made */
	uint32_t idle_count, handles;
	struct http_pending waiting; /* for the limit or a handle, in order of submission */
	struct http_pending active;  /* in flight, in order of their begin */
	uint32_t active_count;
	struct http_request *delayed; /* between two attempts, sorted by due_ms */
	atomic_bool woken;
	struct pace pace;
	uint64_t paced_bytes; /* share of bytes_in that the pace was told of */
	struct http_counters counters;
};

/* Sets all of libcurl's options for request->easy, after prepare(). */
void attempt_set_options(struct http_request *request);

/* The outcome of a transfer that ended with `code`: 0, HTTP_AGAIN or an errno, and its class. */
int attempt_outcome(struct http_request *request, CURLcode code, enum retry_class *ret_class);
