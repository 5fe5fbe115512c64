/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of requests: those that wait, those in flight, and those between two attempts. */
#pragma once

#include "drivers/http/attempt.h"

void pending_append(struct http_pending *queue, struct http_request *request);
void pending_prepend(struct http_pending *queue, struct http_request *request);
/* Removes and returns the first request; NULL: the queue is empty. */
struct http_request *pending_pop(struct http_pending *queue);
/* Removes a request, which must be in the queue. O(n). */
void pending_remove(struct http_pending *queue, struct http_request *request);

/* Queues a request for its next attempt, after a random delay plus `retry_after_s`, the wait that the server
 * asked for. */
void pending_again(struct http *http, struct http_request *request, uint64_t retry_after_s);
/* To be called when the endpoint answers again: requests between two attempts begin the next one within
 * RETRY_BASE_MS, as far as the pace allows. */
void pending_hurry(struct http *http);
