/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a batch's host memory to the kernels as buffers. A CPU device reads the memory in place. For another
 * device it is copied into buffers of the feed, FEED_SETS for each tensor in turn: a batch is copied while
 * the kernels of the one before it run. So the batch that was fed FEED_SETS calls ago must be complete.
 * Order: feed_open -> (feed_inputs | feed_batch)* -> feed_close. One thread.
 */
#pragma once

#include "model/model.h"
#include "model/plan/plan.h"

/* Tensors of a batch: the inputs in the graph's order, label, weight, empty. */
#define FEED_TENSORS (GRAPH_INPUTS_MAX + 3u)

/* A buffer over host memory, cached by address: the slots of a ring repeat, and making a buffer costs time.
 * Each tensor has its own entries, so that no tensor of a batch replaces the buffer of another. */
#define FEED_WRAPS 256u
struct feed_wrap {
	const void *host;
	uint64_t bytes;
	struct gpu_buffer *buffer;
};

#define FEED_SETS 2u

struct feed {
	struct gpu *gpu;
	const struct graph *graph;
	struct gpu_buffer *device[FEED_SETS][FEED_TENSORS]; /* NULL on CPU devices */
	uint32_t set;                                       /* of the last batch */
	struct feed_wrap wrap[FEED_TENSORS][FEED_WRAPS];
};

/* `graph` must outlive the feed. Call feed_close() after an error, too. */
MUST_CHECK int feed_open(struct feed *feed, struct gpu *gpu, const struct graph *graph, struct error *err);
void feed_close(struct feed *feed);

/* Sets values->input to buffers with `rows` rows of each input; `input` is as in struct model_batch. The host
 * memory must stay until the kernels are done. Errors: -EBADMSG the splits of a ragged input do not begin at
 * 0, decrease, or end after the values. */
MUST_CHECK int feed_inputs(struct feed *feed, const void *const *input, uint64_t rows,
			   struct plan_values *values, struct error *err);
/* Sets the inputs, label, weights and empty rows in `values`, and its counts of rows. Errors: those of
 * feed_inputs(); -EINVAL batch->rows or batch->valid_rows is out of range. */
MUST_CHECK int feed_batch(struct feed *feed, const struct model_batch *batch, struct plan_values *values,
			  struct error *err);
