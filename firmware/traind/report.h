/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the progress of training: a line in the log every few seconds, and at the end of each segment an
 * event, the record and the event files. Main thread only.
 */
#pragma once

#include "core/base/error.h"
#include "core/ring/cursor.h"

#include <stdint.h>

struct train;

struct report {
	uint64_t shown_us, rows; /* time of the last line of progress; rows since then */
};

void report_open(struct train *train);
/* Called after every batch: logs a line of progress every few seconds. */
MUST_CHECK int report_progress(struct train *train, enum split split, uint64_t segment, uint32_t rows,
			       struct error *err);
/* Called after the last batch of a segment, before the metrics are reset. Metrics that cannot be written
 * because the disk is full or broken stay in memory, and training goes on. */
MUST_CHECK int report_segment(struct train *train, enum split split, uint64_t segment, struct error *err);
/* Takes part in report_segment() of rank 0, in another rank: gives it the counts that it needs of all. */
MUST_CHECK int report_counts(struct train *train, enum split split, struct error *err);
