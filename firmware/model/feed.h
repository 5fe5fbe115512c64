/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch's host memory -> the buffers that kernels read. CPU devices read it in place; others get it written
 * into buffers of their own, one a tensor. Order: feed_open -> (feed_inputs | feed_batch)* -> feed_close.
 */
#pragma once

#include "model/model.h"
#include "model/plan/plan.h"

/* A batch's tensors: the inputs in the graph's order, label, weight, empty. */
#define FEED_TENSORS (GRAPH_INPUTS_MAX + 3u)

/* Host memory seen as a buffer, by address: a ring has few slots, and making a buffer is not free. Each
 * tensor has ways of its own, so that none evicts another of its batch. */
#define FEED_WRAPS 256u
struct feed_wrap {
	const void *host;
	uint64_t bytes;
	struct gpu_buffer *buffer;
};

struct feed {
	struct gpu *gpu;
	const struct graph *graph;
	struct gpu_buffer *device[FEED_TENSORS]; /* not on CPU devices */
	struct feed_wrap wrap[FEED_TENSORS][FEED_WRAPS];
};

/* `graph` must outlive it. After an error, too, feed_close() frees what there is. */
MUST_CHECK int feed_open(struct feed *feed, struct gpu *gpu, const struct graph *graph, struct error *err);
void feed_close(struct feed *feed);

/* `rows` rows of each input, as struct model_batch has them -> values->input. The host memory must stay until
 * the kernels are done. Errors: -EBADMSG the splits of a ragged input begin, end or fall where they must
 * not. */
MUST_CHECK int feed_inputs(struct feed *feed, const void *const *input, uint64_t rows,
			   struct plan_values *values, struct error *err);
/* The same and labels, weights and empty rows -> values; its counts of rows are checked (-EINVAL). */
MUST_CHECK int feed_batch(struct feed *feed, const struct model_batch *batch, struct plan_values *values,
			  struct error *err);
