/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/http/pending.h"
#include "core/base/clock.h"

#include <sys/random.h>

void pending_append(struct http_pending *queue, struct http_request *request)
{
	request->next = NULL;
	if (queue->first)
		queue->last->next = request;
	else
		queue->first = request;
	queue->last = request;
}

void pending_prepend(struct http_pending *queue, struct http_request *request)
{
	request->next = queue->first;
	queue->first = request;
	if (!request->next)
		queue->last = request;
}

struct http_request *pending_pop(struct http_pending *queue)
{
	struct http_request *request = queue->first;

	if (request)
		queue->first = request->next;
	return request;
}

void pending_remove(struct http_pending *queue, struct http_request *request)
{
	struct http_request *before = NULL;

	for (struct http_request *at = queue->first; at != request; at = at->next)
		before = at;
	if (before)
		before->next = request->next;
	else
		queue->first = request->next;
	if (queue->last == request)
		queue->last = before;
}

/* ---- Between two attempts ---- */

static void insert(struct http *http, struct http_request *request)
{
	struct http_request **at = &http->delayed;

	while (*at && (*at)->due_ms <= request->due_ms)
		at = &(*at)->next;
	request->next = *at;
	*at = request;
}

void pending_again(struct http *http, struct http_request *request, uint64_t retry_after_s)
{
	uint64_t now = clock_ms(), random_bits = 0;

	(void)!getrandom(&random_bits, sizeof(random_bits), 0);
	request->due_ms = now + retry_delay_ms(request->failures - 1, random_bits, retry_after_s);
	request->not_before_ms = retry_after_s ? now + retry_delay_ms(0, 0, retry_after_s) : 0;
	if (request->times)
		request->times->connected_us = request->times->answered_us = 0;
	insert(http, request);
}

void pending_hurry(struct http *http)
{
	uint64_t random_bits = 0, until = clock_ms() + RETRY_BASE_MS;
	struct http_request *request = http->delayed;

	http->delayed = NULL;
	while (request) {
		struct http_request *next = request->next;

		(void)!getrandom(&random_bits, sizeof(random_bits), 0);
		if (request->due_ms > until)
			request->due_ms = until - random_bits % RETRY_BASE_MS;
		if (request->due_ms < request->not_before_ms)
			request->due_ms = request->not_before_ms;
		insert(http, request);
		request = next;
	}
}
