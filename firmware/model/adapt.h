/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapt step of the layer `normalization`: mean and population variance of its input over the training
 * split, over all axes but the last, as Keras's Normalization.adapt(). One pass over the records before step
 * 0, on the host, in float64 and in the order of the records (Welford's method), so the same records give the
 * same bits on every device. With several micro-batches (plan/parts.h) each lane has sums of its own, which
 * are added at the end: so several processes have the sums of one, once they have exchanged those of their
 * lanes. The input of the layer is a feature, possibly reshaped.
 *
 * Order: adapt_open -> (adapt_batch | adapt_lane)* -> adapt_end -> adapt_close. One thread. Crash: the sums
 * are lost, and the next start passes over all records again.
 */
#pragma once

#include "core/base/mistakes.h"
#include "model/model.h"

struct adapt;
struct weights;

/* Finds the layers to adapt. *ret_adapt is NULL where there is none: no such layer, or the configuration or
 * `given` (may be NULL) has the statistics of every such layer. Needs no device. Errors: -EINVAL the input of
 * such a layer is neither a feature nor a reshaped feature. */
MUST_CHECK int adapt_open(const struct graph *graph, const struct weights *given, struct adapt **ret_adapt,
			  struct error *err);
/* For trials_check(): notes a mistake for each layer whose statistics cannot be computed from any data. */
void adapt_check(const struct graph *graph, struct mistakes *mistakes);
/* Adds the rows of a batch to the sums; reads only inputs, rows, empty, first_row and part of it. Empty rows
 * do not count. A batch with first_row 0 begins a new pass and first sets all sums to zero. Errors: -EDOM a
 * number is NaN or infinite; the text names feature, number and row. */
MUST_CHECK int adapt_batch(struct adapt *adapt, const struct model_batch *batch, struct error *err);
/* Returns the sums of a lane, *ret_bytes of them, which the caller may read and write. */
double *adapt_lane(struct adapt *adapt, uint32_t lane, uint64_t *ret_bytes);
/* Returns the number of rows so far that are not empty. */
uint64_t adapt_rows(const struct adapt *adapt);
/* Writes the statistics into the state of the layers. Blocks. Errors: -EBADMSG there were no rows. */
MUST_CHECK int adapt_end(struct adapt *adapt, struct model *model, struct error *err);
void adapt_close(struct adapt *adapt);
void adapt_closep(struct adapt **adapt); /* for CLEANUP() */
