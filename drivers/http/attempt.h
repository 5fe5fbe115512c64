/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/http: http.c holds the loop, the queues and the retries; attempt.c sets one libcurl transfer
 * up, takes its bytes and says what it came to.
 */
#pragma once

#include "drivers/http/http.h"

#include <stdatomic.h>

struct http_list {
	struct http_request *first, *last;
};

struct http {
	struct http_options options;
	char *ca_file;
	CURLM *multi;
	CURL **idle; /* handles without a request, of `handles` made so far */
	uint32_t idle_count, handles;
	struct http_list waiting; /* for a handle, in order of submission */
	struct http_list active;  /* in order of beginning */
	uint32_t active_count;
	struct http_request *delayed; /* by due_ms */
	atomic_bool woken;
	struct pace pace;
	uint64_t paced_bytes; /* of bytes_in, those the pace knows of */
	struct http_counters counters;
};

/* All of libcurl's options for request->easy, after prepare(). */
void attempt_set_options(struct http_request *request);

/* What a transfer that ended with `code` came to: 0, HTTP_AGAIN or an errno, with *ret_class. */
int attempt_outcome(struct http_request *request, CURLcode code, enum retry_class *ret_class);
