/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "drivers/store/s3_call.h"

#include <inttypes.h>
#include <string.h>

/* A range is slow when it has taken longer than SLOW_MEDIANS times the median of the last ranges, and longer
 * than SLOW_LEAST_US, so that normal variation does not count. */
#define SLOW_MEDIANS  4u
#define SLOW_LEAST_US UINT64_C(200000)
#define SAMPLES_LEAST (S3_HEDGE_SAMPLES / 4)
#define NEVER         UINT64_MAX

static struct s3_call *call_of(struct http_request *request)
{
	return (struct s3_call *)request;
}

/* ---- How long a range takes ---- */

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t slow_us(const struct s3_hedge *hedge)
{
	uint64_t sorted[S3_HEDGE_SAMPLES], slow;
	size_t count = hedge->samples < S3_HEDGE_SAMPLES ? hedge->samples : S3_HEDGE_SAMPLES;

	if (count < SAMPLES_LEAST)
		return NEVER;
	memcpy(sorted, hedge->took_us, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_size);
	slow = sorted[count / 2] * SLOW_MEDIANS;
	return slow > SLOW_LEAST_US ? slow : SLOW_LEAST_US;
}

static void took(struct s3_hedge *hedge, uint64_t us)
{
	hedge->took_us[hedge->samples++ % S3_HEDGE_SAMPLES] = us;
}

/* ---- Asking twice ---- */

static struct s3_spare *free_spare(struct s3_hedge *hedge)
{
	for (size_t i = 0; i < S3_HEDGES_MAX; i++)
		if (!hedge->spare[i].used)
			return &hedge->spare[i];
	return NULL;
}

/* Returns whether hedge_percent allows a second request of so many bytes. The first one is always allowed, so
 * that the last range of a small run can be hedged, too. */
static bool affordable(const struct s3_store *s3, uint64_t bytes)
{
	const struct s3_hedge *hedge = &s3->hedge;
	uint64_t in = http_counters_of(s3->http).bytes_in;

	if (bytes > s3->store.options.hedge_bytes)
		return false;
	return !hedge->bytes || hedge->bytes + bytes <= in / 100 * s3->store.options.hedge_percent;
}

static void ask_twice(struct s3_store *s3, struct s3_call *slow, struct s3_spare *spare)
{
	struct s3_call *twin = s3_call_twin(slow);

	if (!twin)
		return;
	spare->used = true;
	twin->spare = spare;
	twin->http.buffer = spare->memory;
	twin->http.urgent = true;
	twin->twin = slow;
	slow->twin = twin;
	s3->hedge.bytes += slow->bytes;
	s3->hedge.asked++;
	s3_call_start(twin);
}

/* Returns, of the ranged gets that are not hedged yet, the one that has been in flight for the longest time;
 * NULL = none. */
static struct s3_call *slowest(const struct s3_store *s3)
{
	for (struct http_request *at = http_in_flight(s3->http); at; at = at->next) {
		struct s3_call *call = call_of(at);

		if (call->request && !call->twin && !call->spare)
			return call;
	}
	return NULL;
}

uint64_t s3_hedge_look(struct s3_store *s3)
{
	uint64_t now = clock_us(), slow = s3->store.options.hedge_percent ? slow_us(&s3->hedge) : NEVER;
	struct s3_call *call = slow == NEVER || !http_calm(s3->http) ? NULL : slowest(s3);
	struct s3_spare *spare;

	if (!call)
		return NEVER;
	if (now - call->http.started_us < slow)
		return slow - (now - call->http.started_us);
	spare = affordable(s3, call->bytes) ? free_spare(&s3->hedge) : NULL;
	if (spare)
		ask_twice(s3, call, spare);
	return slow;
}

/* ---- Which one counts ---- */

void s3_hedge_give_back(struct s3_call *call)
{
	if (call->spare)
		call->spare->used = false;
	call->spare = NULL;
}

static struct s3_call *separate(struct s3_call *call)
{
	struct s3_call *twin = call->twin;

	call->twin = NULL;
	if (twin)
		twin->twin = NULL;
	return twin;
}

void s3_hedge_drop_twin(struct s3_call *call)
{
	struct s3_call *twin = separate(call);

	if (!twin)
		return;
	s3_hedge_give_back(twin);
	http_drop(call->s3->http, &twin->http);
	s3_call_free(twin);
}

bool s3_hedge_settle(struct s3_call *call)
{
	struct s3_call *twin = call->result < 0 ? separate(call) : NULL;

	if (twin) {
		twin->request->work = twin;
		s3_hedge_give_back(call);
		s3_call_free(call);
		return false;
	}
	s3_hedge_drop_twin(call);
	if (call->result == 0)
		took(&call->s3->hedge, clock_us() - call->http.started_us);
	if (call->result == 0 && call->spare) {
		memcpy(call->request->buffer, call->spare->memory, call->bytes);
		if (call->request->arrived)
			call->request->arrived(call->request, 0, call->spare->memory, call->bytes);
		call->s3->hedge.won++;
	}
	s3_hedge_give_back(call);
	return true;
}

/* The buffers are allocated here, but the kernel gives them memory only when a second request first writes to
 * one. */
int s3_hedge_open(struct s3_hedge *hedge, const struct store_options *options, struct error *err)
{
	if (!options->hedge_percent || !options->hedge_bytes)
		return 0;
	for (size_t i = 0; i < S3_HEDGES_MAX; i++) {
		hedge->spare[i].memory = malloc(options->hedge_bytes);
		if (!hedge->spare[i].memory)
			return error_set(err, -ENOMEM, "no memory for ranges of %" PRIu64 " bytes",
					 options->hedge_bytes);
	}
	return 0;
}

void s3_hedge_done(struct s3_hedge *hedge)
{
	for (size_t i = 0; i < S3_HEDGES_MAX; i++)
		free(hedge->spare[i].memory);
}
