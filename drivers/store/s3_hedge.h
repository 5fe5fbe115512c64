/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hedging: a range that takes far longer than others is requested a second time (its twin), on another
 * connection, into a buffer of the hedge. The first complete answer counts, the other attempt is dropped.
 *
 * Why: a stream waits for its slowest range. Stores answer most ranges fast and a few very late (a slow disk,
 * a congested path, an overloaded front end), and a new request usually meets a faster one. A time-out would
 * wait far longer before it retries; a lower time-out would kill ranges that are merely large.
 *
 * Bounds of the cost: a range counts as slow after four medians of the last ranges, at least 200 ms; at
 * most S3_HEDGES_MAX ranges have a twin at a time; all twins together stay below hedge_percent of the bytes
 * received, apart from the first, so that a small run's last range may have a twin too. While the endpoint
 * fails or asks for less (http_calm() is false) no range gets a twin: it would add load where there is too
 * much.
 *
 * Memory: no two attempts write to the same buffer, and the caller's buffer has one writer at a time. Where
 * the twin wins, its bytes are copied.
 */
#pragma once

#include "drivers/store/store.h"

#define S3_HEDGES_MAX    2u
#define S3_HEDGE_SAMPLES 32u

struct s3_call;
struct s3_store;

struct s3_hedge {
	uint64_t took_us[S3_HEDGE_SAMPLES], samples; /* how long the last ranges took */
	uint64_t bytes, asked, won; /* twins: their bytes, their number, how many were faster */
	struct s3_spare {
		char *memory; /* hedge_bytes long */
		bool used;
	} spare[S3_HEDGES_MAX];
};

/* Errors: -ENOMEM. */
MUST_CHECK int s3_hedge_open(struct s3_hedge *hedge, const struct store_options *options, struct error *err);
void s3_hedge_done(struct s3_hedge *hedge);

/* Requests the slowest range again where that is due. Returns in how many microseconds to look again,
 * UINT64_MAX = after the next completion. */
uint64_t s3_hedge_look(struct s3_store *s3);
/* A call of a request ended with call->result. False: its twin decides, and the call is freed. True: the
 * request ends with this result, and its bytes are in its buffer. */
bool s3_hedge_settle(struct s3_call *call);
/* Ends the other attempt at the call's request, if there is one. */
void s3_hedge_drop_twin(struct s3_call *call);
/* Frees the call's spare buffer for another twin, if it has one. */
void s3_hedge_give_back(struct s3_call *call);
