/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands out rows of windows to the workers, as spans: as many as have arrived, up to each stream's share of
 * the batch.
 *
 * Why spans and not rows: the workers' queue is under the lock. A span is all that a window has for a share,
 * so the lock is taken a few times per batch.
 */
#pragma once

#include "fetchd/produce/producer.h"

/* Most rows of a span with pictures: so few that all workers decode pictures of one batch. */
#define PICTURE_SPAN_ROWS 4u

/* Hand out all rows that are there. STEP_DONE: the batch is full, or as full as the segment can make it. */
enum step fill_training(struct producer *producer);
enum step fill_evaluation(struct producer *producer);

/* Leaves the rows below `rows` empty for which no stream has a record. */
enum step fill_empty(struct producer *producer, uint32_t rows);
