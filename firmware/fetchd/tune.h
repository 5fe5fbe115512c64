/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many workers work, and how many windows are read ahead: looked at once a second, from what the reader
 * waited for.
 *
 * Workers: as many as there are, until the ring has been full for CALM_LOOKS seconds without a wait: then one
 * rests. One more works whenever the reader waited for decoding, and the number never shrinks below that
 * again. Why: workers that are not needed take CPU time from other work on the box and wake up for nothing.
 *
 * Windows read ahead: AHEAD_LEAST until the reader waits for a window to arrive, then twice as many each
 * time, as long as the memory holds them (streams_ahead_max).
 *
 * The decisions, tune_workers() and tune_ahead(), are pure. The producer calls, with fetch->lock held.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/fetch.h"
#include "fetchd/produce/stall.h"

/* What the reader waited for since the start, and how long the ring was full. */
struct tune_account {
	uint64_t arriving_us, decoding_us, waited_us, full_us;
};

struct tune {
	uint32_t workers_least, calm; /* calm: looks in a row without a wait, with a full ring */
	uint64_t looked_us;
	struct tune_account last; /* at the last look */
	const char *workers_reason, *ahead_reason;
};

void tune_begin(struct tune *tune, struct fetch *fetch);
/* Looks once a second, however often it is called. */
void tune_look(struct tune *tune, struct fetch *fetch, const struct stall *stall);
void tune_show(const struct tune *tune, const struct fetch *fetch, struct status_fetchd *status);

/* The number of workers from now on; sets workers_reason when it changes. */
uint32_t tune_workers(struct tune *tune, uint32_t workers, uint32_t workers_max,
		      const struct tune_account *now);
/* The number of windows read ahead from now on, at most `most`, which `limit` explains. */
uint32_t tune_ahead(struct tune *tune, uint32_t ahead, uint32_t most, const char *limit,
		    const struct tune_account *now);
