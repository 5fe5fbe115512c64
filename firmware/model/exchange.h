/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradients of a step on their way between the processes of a run. The gradient arena is cut into
 * buckets, from its end on: the backward pass begins with the last layer, so it finishes the buckets about in
 * this order. All processes cut the same buckets and exchange them in the same order.
 *
 * Overlap: in the last micro-batch of the process, each bucket is taken as soon as the launches that use it
 * are enqueued. While the device goes on with the layers before, the bucket travels. With several
 * micro-batches in a process, the others hide nothing, because a bucket is complete only in the last one.
 *
 * What waits for all buckets: everything after the sum (plan/parts.h). Clipping by a norm and the loss scale
 * need all gradients, and the update is one launch.
 *
 * Copies: a CPU device exchanges the buckets in its own memory. Another device copies a bucket into host
 * memory, which is pinned where the driver can, on a queue of its own, and back on the queue of the kernels.
 *
 * Order: exchange_open -> (exchange_take of each bucket -> exchange_run)* -> exchange_close. One thread.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/model.h"

struct bucket {
	uint64_t first, end; /* bytes of the gradient arena */
	uint32_t ready;      /* the bucket is complete after so many launches of the training plan */
	struct gpu_event taken;
	uint64_t ticket;
};

struct exchange {
	struct model_exchange with;
	struct bucket *bucket;
	uint32_t buckets;      /* 0: there is no other process */
	struct gpu_host *host; /* not on a CPU device */
	uint8_t *arena; /* the gradient arena in host memory: that of `host`, or of the device itself */
};

/* Cuts the buckets. The training plan is ready to run. Errors: -ENOMEM. Call exchange_close() after an error,
 * too. */
MUST_CHECK int exchange_open(struct model *model, const struct model_exchange *with, struct error *err);
void exchange_close(struct exchange *exchange);
/* Takes bucket b = 0 .. buckets - 1, in this order, when the commands enqueued so far are complete. Later
 * commands do not use it before exchange_run() has returned. */
MUST_CHECK int exchange_take(struct model *model, uint32_t b, struct error *err);
/* Exchanges all buckets: commands enqueued afterwards find the sums of all processes in the gradient arena.
 * Blocks until all processes have taken part. Errors: those of struct model_exchange. */
MUST_CHECK int exchange_run(struct model *model, struct error *err);
