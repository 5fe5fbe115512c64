/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a batch's host memory to the kernels as buffers. A CPU device reads the memory in place. For another
 * device it is copied into buffers of the feed, FEED_SETS for each tensor in turn: a batch is copied while
 * the kernels of the one before it run. So the batch that was fed FEED_SETS calls ago must be complete.
 *
 * A device with memory of its own copies a tensor from the batch itself where that lies in the memory of
 * feed_pin(); elsewhere the host first copies it into pinned memory. Small tensors (labels, weights) always
 * go through pinned memory and share one copy: an enqueue takes longer than the host's copy of them.
 *
 * Order: feed_open -> (feed_pin | feed_inputs | feed_batch)* -> feed_close. One thread.
 */
#pragma once

#include "model/model.h"
#include "model/plan/plan.h"

/* Tensors of a batch: label, weight, empty, then from FEED_INPUT on the inputs in the graph's order. */
enum { FEED_LABEL, FEED_WEIGHT, FEED_EMPTY, FEED_INPUT };
#define FEED_TENSORS (GRAPH_INPUTS_MAX + FEED_INPUT)

/* A buffer over host memory, cached by address: the slots of a ring repeat, and making a buffer costs time.
 * Each tensor has its own entries, so that no tensor of a batch replaces the buffer of another. */
#define FEED_WRAPS 256u
struct feed_wrap {
	const void *host;
	uint64_t bytes;
	struct gpu_buffer *buffer;
};

#define FEED_SETS 2u

/* The buffers of a batch; all NULL on CPU devices. */
struct feed_set {
	struct gpu_buffer *small; /* holds the small tensors; NULL: there are none */
	struct gpu_buffer *device[FEED_TENSORS];
	struct gpu_host *small_host;         /* pinned memory, from which `small` is copied */
	struct gpu_host *host[FEED_TENSORS]; /* of large tensors; NULL: not needed so far */
};

struct feed {
	struct gpu *gpu;
	const struct graph *graph;
	struct feed_set set[FEED_SETS];
	uint32_t last;                /* the set of the last batch */
	uint64_t place[FEED_TENSORS]; /* of small tensors in `small`; UINT64_MAX: the tensor is large */
	uint64_t small_bytes;         /* of `small` that the batch which begins has filled */
	struct gpu_host *pinned;      /* the memory of feed_pin(), or NULL */
	uint64_t pinned_bytes;
	struct feed_wrap (*wrap)[FEED_WRAPS]; /* of each tensor; NULL: the device does not read in place */
};

/* `graph` must outlive the feed. Call feed_close() after an error, too. */
MUST_CHECK int feed_open(struct feed *feed, struct gpu *gpu, const struct graph *graph, struct error *err);
void feed_close(struct feed *feed);
/* Tells that batches will lie in this memory (gpu_host_wrap()), until the next call or feed_close(); NULL:
 * they lie anywhere. The batches that were fed must be complete. Errors: those of gpu_host_wrap(); batches
 * in this memory are allowed, and are copied through other memory. */
MUST_CHECK int feed_pin(struct feed *feed, void *memory, uint64_t bytes, struct error *err);

/* Sets values->input to buffers with `rows` rows of each input; `input` is as in struct model_batch. The host
 * memory must stay until the kernels are done. Errors: -EBADMSG the splits of a ragged input do not begin at
 * 0, decrease, or end after the values. */
MUST_CHECK int feed_inputs(struct feed *feed, const void *const *input, uint64_t rows,
			   struct plan_values *values, struct error *err);
/* Sets the inputs, label, weights and empty rows in `values`, and its counts of rows. Errors: those of
 * feed_inputs(); -EINVAL batch->rows or batch->valid_rows is out of range. */
MUST_CHECK int feed_batch(struct feed *feed, const struct model_batch *batch, struct plan_values *values,
			  struct error *err);
