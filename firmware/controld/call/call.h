/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a request, from the client's line to the answer:
 *
 *     serve/session.c    reads the line, checks it (core/control/control.h), makes a call
 *     methods/table.c    finds an earlier answer under the idempotency key, or runs the method
 *     methods/...        fills call->result and returns 0,
 *                        or sends kiln-steer a word and returns CALL_LATER      call/steer.h
 *     call_end()         remembers the result under the key, hands it to the client, frees the call
 *
 * Owner of a call: the session until the method returns; after CALL_LATER the word to kiln-steer, until
 * kiln-steer answered or its time is over. When a client disconnects meanwhile, call->client becomes NULL:
 * the word is sent, so the act happens, and its result waits under the key until the client connects again.
 */
#pragma once

#include "controld/call/recall.h"
#include "controld/wire/loop.h"

/* A method may return this besides 0 and a negative errno: call_end() comes later. */
#define CALL_LATER 1

struct box;
struct call;
struct follow;
struct steer;

/* Shared by all calls. */
struct calls {
	struct loop *loop;
	struct recall recall;
	struct steer *steers; /* words on their way */
	size_t followers;     /* subscribers */
};

/* Gets the outcome of a call; the call and its result stay the caller's. r < 0: call->code and err tell why.
 */
typedef void call_answer_fn(void *client, struct call *call, int r, struct error *err);

struct call {
	struct calls *calls;
	struct box *box;
	struct control_request request;
	uint64_t caller;        /* owner of the idempotency key */
	enum control_code code; /* code of a failure; CONTROL_INTERNAL where a method sets no other */
	cJSON *result;
	struct follow *follow; /* events.subscribe: what follows the answer; the client's */
	call_answer_fn *answer;
	void *client; /* NULL: the client left */
};

/* Errors: NULL, no memory. */
struct call *call_new(struct calls *calls, struct box *box, call_answer_fn *answer, void *client);
void call_free(struct call *call);
/* The end of every call. Frees it. */
void call_end(struct call *call, int r, struct error *err);

/* Makes {"name": true} the result. Errors: -ENOMEM. */
MUST_CHECK int call_result_true(struct call *call, const char *name, struct error *err);
static inline int call_no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "no memory");
}
