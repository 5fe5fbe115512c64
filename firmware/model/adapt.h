/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapt step of `normalization`: mean and population variance of the training split, over all axes but
 * the last, as Keras's Normalization.adapt(). One pass over the records before step 0, on the host, in
 * float64 and in the order of the records (Welford), so that the same records give the same bits on every
 * device. The layers' input is a feature, as it comes or reshaped.
 *
 * Order: adapt_open -> adapt_batch* -> adapt_end -> adapt_close.
 */
#pragma once

#include "core/base/mistakes.h"
#include "model/model.h"

struct adapt;
struct weights;

/* *ret_adapt is NULL where there is nothing to adapt: no such layer, the configuration gives, or `given`,
 * which may be NULL, has the statistics of all of them. Needs no device. Errors: -EINVAL a layer's input is
 * not made of a feature alone.
 */
MUST_CHECK int adapt_open(const struct graph *graph, const struct weights *given, struct adapt **ret_adapt,
			  struct error *err);
/* Note the layers that can have no statistics, whatever the data: for config_check(). */
void adapt_check(const struct graph *graph, struct mistakes *mistakes);
/* Inputs, rows, empty and first_row of a batch; rows that are marked empty do not count.
 * One with first_row 0 begins anew: a pass that was broken off counts for nothing.
 * Errors: -EDOM a number is NaN or infinite: feature, number, row. */
MUST_CHECK int adapt_batch(struct adapt *adapt, const struct model_batch *batch, struct error *err);
/* The rows so far that count. */
uint64_t adapt_rows(const struct adapt *adapt);
/* The layers get their statistics. Blocks. -EBADMSG: there were no rows. */
MUST_CHECK int adapt_end(struct adapt *adapt, struct model *model, struct error *err);
void adapt_close(struct adapt *adapt);
void adapt_closep(struct adapt **adapt); /* for CLEANUP() */
