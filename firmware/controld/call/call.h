/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a request, from the client's line to the answer:
 *
 *     serve/session.c    reads the line, checks it (core/control/control.h), makes a call
 *     methods/table.c    finds an earlier answer under the idempotency key, or runs the method
 *     methods/...        fills call->result and returns 0,
 *                        or sends a word (a command) to kiln-steer and returns CALL_LATER   call/steer.h
 *     call_end()         remembers the result under the key, hands it to the client, frees the call
 *
 * Owner of a call: the session until the method returns. After CALL_LATER the owner is the word to
 * kiln-steer, until kiln-steer has answered or the word's time is over. If the client leaves meanwhile, the
 * session sets call->client to NULL: kiln-steer has the word already and acts, and the result waits under the
 * key for a client that repeats the request.
 */
#pragma once

#include "controld/call/recall.h"
#include "controld/wire/loop.h"

/* A method returns 0, a negative errno, or this value: the outcome is not known yet, and call_end() comes
 * later. */
#define CALL_LATER 1

struct box;
struct call;
struct follow;
struct job;
struct steer;

/* State that all calls share. */
struct calls {
	struct loop *loop;
	struct recall recall;
	struct steer *steers; /* words that wait for an answer of kiln-steer */
	struct job *jobs;     /* jobs that other boxes lead (jobs.h) */
	size_t followers;     /* number of subscribed clients */
};

/* Gets the outcome of a call from call_end(), which still owns the call. r < 0: call->code and err tell what
 * went wrong. */
typedef void call_answer_fn(void *client, struct call *call, int r, struct error *err);

struct call {
	struct calls *calls;
	struct box *box;
	struct control_request request;
	uint64_t caller; /* who sent the request: each caller has idempotency keys of its own */
	/* error code of a call that fails; CONTROL_INTERNAL unless the method sets another */
	enum control_code code;
	cJSON *result;
	/* set by events.subscribe: the events that the client gets after the answer; the session takes it
	 * over */
	struct follow *follow;
	/* set by rank.start: the job, which the session takes over with the answer; leave() is called for it
	 * where no session does */
	struct job *job;
	void (*leave)(struct job *job);
	call_answer_fn *answer;
	void *client; /* the session that waits for the answer; NULL: the client left */
};

/* Makes a call whose outcome goes to answer(client, ...). Errors: NULL, no memory. */
struct call *call_new(struct calls *calls, struct box *box, call_answer_fn *answer, void *client);
void call_free(struct call *call);
/* Ends a call: remembers the result under its key, passes the outcome to the client, frees the call. */
void call_end(struct call *call, int r, struct error *err);

/* Makes {"NAME": true} the result of the call. Errors: -ENOMEM. */
MUST_CHECK int call_result_true(struct call *call, const char *name, struct error *err);
static inline int call_no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "no memory");
}
