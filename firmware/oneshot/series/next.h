/* SPDX-License-Identifier: Apache-2.0 */
/* Which trial of a series runs next. A pure function of the record (core/series/series.h): after a crash the
 * same record gives the same answer. */
#pragma once

#include "core/series/series.h"

struct config;

struct next {
	bool over;       /* no trial runs any more */
	uint32_t trial;  /* index of the trial that runs next */
	uint64_t epochs; /* the trial rests once so many epochs are done; 0 = it trains to its end */
};

/* Returns what runs next, by series.method of the frozen configuration. A trial that runs goes on first. */
struct next next_of(const struct config *config, const cJSON *series);

/* Returns how many rungs a trial ends that trains to its end: 0 where the series does not halve. */
uint32_t next_rungs(const struct config *config, const cJSON *series);
/* Returns the epochs at the end of a rung, counted from 0; 0 where this is the end of the run. */
uint64_t next_rest_after(const struct config *config, uint32_t rung);

/* Returns the index of a parked trial that can go no further, whatever the others do; -1 = none. */
int next_lost(const struct config *config, const cJSON *series);
