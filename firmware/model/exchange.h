/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of a step on their way between the processes of a run. The gradient arena is cut into
 * buckets, from its end on: the backward pass begins with the last layer, so it finishes the buckets about in
 * this order. All processes cut the same buckets and exchange them in an order that depends on nothing but
 * their number.
 *
 * Overlap: in the last micro-batch of the process, each bucket is taken as soon as the launches that use it
 * are enqueued. While the device goes on with the layers before, the bucket travels. With several
 * micro-batches in a process, the others hide nothing, because a bucket is complete only in the last one.
 *
 * The update divided (ZeRO, stage 1): each process updates its own chunk (ranks_chunk()) of each bucket of
 * parameters, and then gives these weights to the others. So each does 1 / world of the update, and as many
 * bytes travel as without the division. The update of a bucket is enqueued while the backward pass goes on:
 * no launch after it reads these weights. Only `part_tail`, in buckets of its own, is summed for all. The
 * slots of other chunks become out of date, and model_gather() collects them. Memory for them is not saved.
 * The update is divided where
 * - optimizer_divides(): the others, such as clipping by a norm and the loss scale, need all gradients first,
 * - the gradients are more than one bucket: of a small network a second exchange takes longer than the
 *   update,
 * - no histograms of gradients are written (tensorboard.histogram_epochs).
 * Else all buckets are summed for all, and each process updates all parameters. With ranks.exchange "float32"
 * the bits are the same. With "bfloat16" they are not: the sums that are given to all are rounded, those of
 * the own chunk are not. A weight that becomes NaN or infinite is found by its owner in this step, by the
 * others in the loss of the next one.
 *
 * Copies: a CPU device exchanges the buckets in its own memory. Another device copies a bucket into host
 * memory, which is pinned where the driver can, on a queue of its own, and back on the queue of the kernels.
 *
 * Order: exchange_open -> ((exchange_take -> exchange_go_on) of each bucket -> exchange_run ->
 * exchange_update)* -> exchange_close. One thread.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/model.h"
#include "model/plan/plan.h"

struct bucket {
	uint64_t first, end; /* bytes of the gradient arena */
	uint32_t ready;      /* the bucket is taken after so many launches of the training plan */
	struct gpu_event taken;
	uint64_t ticket;
	bool exact; /* the bucket holds no gradients: nothing in it is rounded */
	/* Where the update is divided, and the bucket is one of parameters: */
	bool divided;
	uint64_t own_first, own_end; /* bytes of the own chunk */
	struct plan update;          /* of the own chunk */
};

struct exchange {
	struct model_exchange with;
	struct bucket *bucket;
	uint32_t buckets;      /* 0: there is no other process */
	struct gpu_host *host; /* not on a CPU device */
	/* The gradient arena and the parameter region in host memory: that of the device, or both `host`. */
	uint8_t *gradients, *state;
	bool divides;
	uint32_t reduced, updated, spread; /* of this step: for so many buckets the stage has begun */
	bool apart;                        /* slots of other processes are out of date */
	struct plan settle;                /* where the update is divided: what follows it */
};

/* Cuts the buckets. The training plan is ready to run. Errors: -ENOMEM; those of the device. Call
 * exchange_close() after an error, too. */
MUST_CHECK int exchange_open(struct model *model, const struct model_exchange *with, struct error *err);
void exchange_close(struct exchange *exchange);
/* Takes bucket b = 0 .. buckets - 1, in this order, when the commands enqueued so far are complete. Later
 * commands do not use it before exchange_run() has returned. */
MUST_CHECK int exchange_take(struct model *model, uint32_t b, struct error *err);
/* Where the update is divided: goes on with the first `taken` buckets, which are taken. `values` are those of
 * the update. Blocks where device or link are behind. */
MUST_CHECK int exchange_go_on(struct model *model, const struct plan_values *values, uint32_t taken,
			      struct error *err);
/* Exchanges all buckets, which are taken: commands enqueued afterwards find the sums of all processes in the
 * gradient arena. Where the update is divided, only begins the exchange of parameters. Blocks until all
 * processes have taken part. Errors: those of struct model_exchange. */
MUST_CHECK int exchange_run(struct model *model, struct error *err);
/* Where `divides`, after exchange_run(): updates the other own chunks, gives the weights to all, and does
 * what follows the update. Blocks. */
MUST_CHECK int exchange_update(struct model *model, const struct plan_values *values, struct error *err);
