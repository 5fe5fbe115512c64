/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hedging: a range that takes far longer than others is requested a second time (its twin), on another
 * connection, into a buffer of the hedge. The first complete answer counts, the other attempt is dropped.
 *
 * Why: a stream waits for its slowest range. Stores answer most ranges fast and a few very late (a slow disk,
 * a congested network path, an overloaded front end), and a second request is usually handled by a faster
 * disk, path or front end. A time-out would have to be far longer, because a short one would also abort
 * ranges that are only large.
 *
 * Bounds of the cost: a range counts as slow after four medians of the last ranges, at least 200 ms; at most
 * S3_HEDGES_MAX ranges are asked for twice at the same time; the bytes of all second requests stay below
 * hedge_percent of the bytes received. The very first of them is always allowed, so that the last range of
 * a small run can be hedged, too. While the endpoint fails or asks for fewer requests (http_calm() is false)
 * nothing is asked for twice: that would add load to an overloaded endpoint.
 *
 * Memory: no two attempts write to the same buffer, and the caller's buffer has one writer at a time. Where
 * the second request is the faster one, its bytes are copied into the caller's buffer.
 */
#pragma once

#include "drivers/store/store.h"

#define S3_HEDGES_MAX    2u
#define S3_HEDGE_SAMPLES 32u

struct s3_call;
struct s3_store;

struct s3_hedge {
	/* times that the last ranges took (a circular buffer), and how many were noted */
	uint64_t took_us[S3_HEDGE_SAMPLES], samples;
	/* bytes and number of the second requests; won: how many of them were faster */
	uint64_t bytes, asked, won;
	struct s3_spare {
		char *memory; /* hedge_bytes long */
		bool used;
	} spare[S3_HEDGES_MAX];
};

/* Allocates the hedge's buffers, unless hedging is off. Errors: -ENOMEM. */
MUST_CHECK int s3_hedge_open(struct s3_hedge *hedge, const struct store_options *options, struct error *err);
void s3_hedge_done(struct s3_hedge *hedge);

/* Sends a second request for the slowest range, if the range is slow enough. Returns in how many microseconds
 * to call again; UINT64_MAX = after the next completion. */
uint64_t s3_hedge_look(struct s3_store *s3);
/* To be called when one call of a request has ended with call->result. Returns true where that is the
 * request's result: then the bytes are in the request's buffer. Returns false where the call failed while its
 * twin, the other call for the range, is still in flight: then the call is freed, and the twin decides. */
bool s3_hedge_settle(struct s3_call *call);
/* Cancels the other call for the same range, if there is one. */
void s3_hedge_drop_twin(struct s3_call *call);
/* Makes the hedge's buffer that the call uses, if any, free for another call. */
void s3_hedge_give_back(struct s3_call *call);
