/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "drivers/store/backend.h"

#define IN_FLIGHT 1 /* value of store_request.result while the request is in flight */

int store_submit(struct store *store, struct store_request *request, struct error *err)
{
	request->result = IN_FLIGHT;
	request->next = NULL;
	return store->ops->submit(store, request, err);
}

bool store_is_in_flight(const struct store_request *request)
{
	return request->result == IN_FLIGHT;
}

void store_awake(const struct store *store)
{
	if (store->options.awake)
		store->options.awake(store->options.awake_context);
}

void store_complete(struct store *store, struct store_request *request, int result)
{
	request->result = result;
	request->next = NULL;
	if (store->done)
		store->done_last->next = request;
	else
		store->done = request;
	store->done_last = request;
}

/* Removes a request from the queue of completed requests and returns it: `which`, or the first one where
 * `which` is NULL. NULL: it is not there. */
static struct store_request *pop_done(struct store *store, const struct store_request *which)
{
	struct store_request *before = NULL, *request = store->done;

	while (request && which && request != which) {
		before = request;
		request = request->next;
	}
	if (!request)
		return NULL;
	if (before)
		before->next = request->next;
	else
		store->done = request->next;
	if (store->done_last == request)
		store->done_last = before;
	request->next = NULL;
	return request;
}

int store_poll(struct store *store, uint32_t timeout_ms, struct store_request **ret_done, struct error *err)
{
	int r;

	*ret_done = pop_done(store, NULL);
	if (*ret_done)
		return 0;
	r = store->ops->drive(store, timeout_ms, NULL, err);
	*ret_done = pop_done(store, NULL);
	return r;
}

void store_wake(struct store *store)
{
	store->ops->wake(store);
}

bool store_cancel(struct store *store, struct store_request *request)
{
	if (request->result == IN_FLIGHT)
		store->ops->cancel(store, request);
	else if (!pop_done(store, request))
		return false;
	request->result = error_set(&request->err, -ECANCELED, "given up");
	return true;
}

void store_cancel_all(struct store *store)
{
	store->ops->cancel_all(store);
	for (struct store_request *request; (request = pop_done(store, NULL));)
		request->result = error_set(&request->err, -ECANCELED, "given up");
}

uint32_t store_wait_ms(const struct store *store)
{
	const uint64_t deadline_us = store->options.deadline_us, now_us = clock_us();

	if (!deadline_us)
		return STORE_DRIVE_MS;
	if (now_us >= deadline_us)
		return 0;
	return deadline_us - now_us < STORE_DRIVE_MS * 1000u ? (uint32_t)((deadline_us - now_us) / 1000 + 1)
							     : STORE_DRIVE_MS;
}

int store_is_late(struct error *err)
{
	return error_set(err, -ETIMEDOUT,
			 "the store has not answered in the time that the caller has for it");
}

int store_wait(struct store *store, struct store_request *request, struct error *err)
{
	while (request->result == IN_FLIGHT) {
		const uint32_t wait_ms = store_wait_ms(store);
		int r = wait_ms ? store->ops->drive(store, wait_ms, request, err) : store_is_late(err);

		store_awake(store);
		if (r < 0) {
			/* no request may stay in flight: its memory may be on our caller's stack */
			store_cancel_all(store);
			return r;
		}
	}
	(void)pop_done(store, request);
	if (request->result < 0 && err)
		*err = request->err;
	return request->result;
}

int store_get(struct store *store, const char *key, const struct store_pin *pin, uint64_t offset,
	      void *buffer, uint64_t bytes, struct error *err)
{
	struct store_request request = {
		.key = key, .pin = pin, .offset = offset, .buffer = buffer, .bytes = bytes
	};
	int r = store_submit(store, &request, err);

	return r < 0 ? r : store_wait(store, &request, err);
}
