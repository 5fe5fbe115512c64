/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which trial of a series runs next in a slot. A pure function of the record (core/series/series.h): after a
 * crash the same record gives the same answer.
 *
 * With several slots the trials of a list, a grid and a random draw are the same as with one, and each ends
 * with the same bits on devices that are alike, because it is an ordinary run. The promotions of halving
 * depend on the order in which trials end their rungs: with several slots this order is that of the clock, so
 * other trials may be promoted than with one slot. A trial that is promoted has the same bits.
 */
#pragma once

#include "core/series/series.h"

struct config;

struct next {
	bool over;       /* no trial runs any more, in any slot */
	bool waits;      /* nothing to do in this slot, until a trial of another one ends */
	uint32_t trial;  /* index of the trial that runs next */
	uint64_t epochs; /* the trial rests once so many epochs are done; 0 = it trains to its end */
};

/* Returns what runs next in the slot, by series.method of the frozen configuration. A trial that runs there
 * goes on first; one that runs in another slot is that slot's. */
struct next next_of(const struct config *config, const cJSON *series, unsigned slot);

/* Returns the index of the trial that begins in the slot when the one that runs there has ended; -1: none
 * begins, or it is not known yet. It is not known while the series halves, as the promotion depends on the
 * value of the trial that runs, nor with several slots, as the slot that is free first takes the next trial.
 * A trial that has begun, and goes on before any other begins, is none. */
int next_after(const cJSON *series, unsigned slot);

/* Returns how many rungs a trial ends that trains to its end: 0 where the series does not halve. */
uint32_t next_rungs(const struct config *config, const cJSON *series);
/* Returns the epochs at the end of a rung, counted from 0; 0 where this is the end of the run. */
uint64_t next_rest_after(const struct config *config, uint32_t rung);

/* Returns the index of a parked trial that can go no further, whatever the others do; -1 = none. */
int next_lost(const struct config *config, const cJSON *series);
