/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-batches that this process computes, and the sum of their gradients (plan/parts.h). For
 * model_open.c and model.c. One thread.
 *
 * The sum on one device: the gradients of a micro-batch are in the gradient arena. Micro-batch k = 0, 1, ...
 * of this process is added to the sums of 1, 2, 4 ... micro-batches that wait for their neighbour, as a
 * binary counter carries, and then waits itself.
 */
#pragma once

#include "model/exchange.h"
#include "model/model.h"
#include "model/plan/plan.h"

#define SHARE_LEVELS 5u

struct share {
	uint32_t first, count; /* micro-batches of this process: first .. first + count - 1 of graph->parts */
	struct plan apply;     /* what follows the sum */
	struct gpu_kernel *add;
	struct gpu_buffer *waiting[SHARE_LEVELS]; /* sums of 2^level micro-batches; NULL: not needed so far */
	struct exchange exchange;                 /* with the other processes */
	/* Row splits of a micro-batch: those of the batch from another row on. In turn, because a batch may
	 * still be read while the next one is prepared. */
	int64_t *splits[MODEL_BATCHES_AHEAD][MODEL_INPUTS_MAX];
};

/* Opens the share of a model whose graph has several micro-batches; it is all of them. `share->apply` is
 * bound. Call share_close() after an error, too. */
MUST_CHECK int share_open(struct model *model, struct error *err);
void share_close(struct model *model);

/* Makes the batch of micro-batch k = 0 .. share.count - 1. `turn` tells batches in flight apart. Errors:
 * -EINVAL the batch has another number of rows than share.count micro-batches. */
MUST_CHECK int share_cut(struct model *model, const struct model_batch *batch, uint32_t k, uint64_t turn,
			 struct model_batch *ret_part, struct error *err);

/* Enqueues the training of micro-batch k and the sums that it completes. After the last one the gradient
 * arena has the sum of all micro-batches of the step. Where other processes compute some of them, blocks
 * until these have added theirs. */
MUST_CHECK int share_train(struct model *model, const struct plan_values *values, uint32_t k,
			   struct error *err);
/* Enqueues what follows the sum. Blocks where processes divide the update among them (exchange.h). */
MUST_CHECK int share_apply(struct model *model, const struct plan_values *values, struct error *err);
