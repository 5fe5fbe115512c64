/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many workers work, and how many windows are read ahead. Once a second the producer decides both, from
 * the account of what the reader waited for (produce/stall.h).
 *
 * Workers: all of them work until the ring has been full for CALM_LOOKS seconds without a wait; then one
 * worker rests. One more works whenever the reader waited for decoding, and the number never shrinks below
 * that again: it would go up and down, with a wait each time. Why workers rest: a worker that is not needed
 * takes CPU time from other work on the box and wakes up for nothing.
 *
 * Windows read ahead: AHEAD_LEAST, or of objects AHEAD_OBJECTS, until the reader waits for a window to
 * arrive, then twice as many each time, up to what the memory holds (streams_ahead_max).
 *
 * Neither number has any influence on the bytes in the ring, only on when they are there (except with
 * order.mode "fast", whose order is that of arrival).
 *
 * The decisions, tune_workers() and tune_ahead(), are pure. The producer calls, with fetch->lock held.
 */
#pragma once

#include "core/run/status.h"
#include "fetchd/produce/stall.h"
#include "fetchd/shared/fetch.h"

/* The reader's waits since the start, by cause, and how long the ring was full. */
struct tune_account {
	uint64_t arriving_us, decoding_us, waited_us, full_us;
};

struct tune {
	uint32_t workers_least, calm; /* calm: successive looks without a wait and with a full ring */
	uint64_t looked_us;
	struct tune_account last; /* at the last look */
	const char *workers_reason, *ahead_reason;
};

void tune_begin(struct tune *tune, struct fetch *fetch);
/* Decides, at most once a second; may be called more often. */
void tune_look(struct tune *tune, struct fetch *fetch, const struct stall *stall);
/* Writes the numbers and their reasons into the status. */
void tune_show(const struct tune *tune, const struct fetch *fetch, struct status_fetchd *status);

/* The number of workers from now on; sets workers_reason when it changes. */
uint32_t tune_workers(struct tune *tune, uint32_t workers, uint32_t workers_max,
		      const struct tune_account *now);
/* The number of windows read ahead from now on, at most `most`, which `limit` explains. */
uint32_t tune_ahead(struct tune *tune, uint32_t ahead, uint32_t most, const char *limit,
		    const struct tune_account *now);
