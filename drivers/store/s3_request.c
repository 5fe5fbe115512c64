/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_request.h"

/* Calls the request's own arrived(), unless the bytes are in a buffer of the hedge. */
static void arrived(struct s3_call *call, const char *bytes, size_t count)
{
	struct store_request *request = call->request;

	if (request->arrived && !call->spare)
		request->arrived(request, call->http.received, bytes, count);
}

static void ended(struct s3_call *call)
{
	struct store_request *request = call->request;
	struct s3_store *s3 = call->s3;
	int result = call->result;

	if (!s3_hedge_settle(call))
		return;
	request->err = call->err;
	s3->completed |= !s3->until || s3->until == request;
	s3_call_free(call);
	store_complete(&s3->store, request, result);
}

/* Returns a call, not started yet, that gets the range of a request. NULL: no memory. */
static struct s3_call *call_of(struct s3_store *s3, struct store_request *request, struct error *err)
{
	struct s3_call *call = s3_call_new(s3, HTTP_GET, request->key, err);

	if (!call)
		return NULL;
	call->request = request;
	call->arrived = arrived;
	call->ended = ended;
	call->ranged = true;
	call->offset = request->offset;
	call->bytes = request->bytes;
	call->pin = request->pin;
	call->http.buffer = request->buffer;
	call->http.buffer_bytes = request->bytes;
	if (call->pin && call->pin->version[0])
		s3_call_query(call, "versionId", call->pin->version);
	return call;
}

int s3_submit(struct store *store, struct store_request *request, struct error *err)
{
	struct s3_call *call;

	if (!request->bytes) {
		store_complete(store, request, 0);
		return 0;
	}
	call = call_of(s3_store_of(store), request, err);
	if (!call)
		return -ENOMEM;
	request->work = call;
	request->times = (struct http_times){ 0 };
	call->http.times =
		/* not set for the second call of a hedge, whose times would hide how slow the first is */
		&request->times;
	s3_call_start(call);
	return 0;
}

int s3_drive(struct store *store, uint32_t timeout_ms, const struct store_request *until, struct error *err)
{
	struct s3_store *s3 = s3_store_of(store);
	uint64_t look_us = s3_hedge_look(s3);

	if (look_us / 1000 < timeout_ms)
		timeout_ms = (uint32_t)(look_us / 1000) + 1;
	s3->completed = false;
	s3->until = until;
	return http_drive(s3->http, timeout_ms, &s3->completed, !until, err);
}

void s3_wake(struct store *store)
{
	http_wake(s3_store_of(store)->http);
}

void s3_cancel(struct store *store, struct store_request *request)
{
	struct s3_call *call = request->work;

	s3_hedge_drop_twin(call);
	s3_hedge_give_back(call);
	http_drop(s3_store_of(store)->http, &call->http);
	s3_call_free(call);
}

void s3_cancel_all(struct store *store)
{
	http_cancel_all(s3_store_of(store)->http);
}
