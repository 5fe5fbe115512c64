/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of struct model, for model_open.c, model.c (batches), sums.c (metrics), state.c (the state
 * arena) and tests.
 */
#pragma once

#include "core/ring/cursor.h"
#include "drivers/gpu/gpu.h"
#include "model/feed.h"
#include "model/model.h"
#include "model/plan/plan.h"
#include "model/share.h"

#include <stdatomic.h>

/* The first fault, such as a NaN, as metrics.cl, embedding.cl and loss_scale.cl report it. */
enum fault_what { FAULT_NONE, FAULT_LOSS, FAULT_PARAMETER, FAULT_LABEL, FAULT_ID, FAULT_SCALE };
struct fault {
	uint32_t what, step, element;        /* `element`: index in the parameter region; with FAULT_LABEL and
						FAULT_ID the row of the batch */
	uint32_t row, found_low, found_high; /* row: of the pass */
	uint32_t node; /* index of the node; with FAULT_LABEL the element of the label */
};
static_assert(sizeof(struct fault) == FAULT_WORDS * sizeof(uint32_t), "as metrics.cl has it");

/* A batch that is given to the device. Its memory must not be freed or changed until the batch is done. */
struct flight {
	struct gpu_event event;   /* of the read that fills the batch's fault, `read_fault` of struct model */
	struct model_batch batch; /* or micro-batch */
	uint32_t first;           /* its first row in the batch of the caller */
};

/* Identifies a number of a batch that is NaN or infinite. `tensor` GRAPH_NO_TENSOR: the batch has no such
 * number. */
struct bad_number {
	uint32_t tensor;
	uint64_t row, row_of_pass, element;
	float found;
};

/* Step and cursor as a snapshot stores them: written on the queue right before the copy. */
struct counters {
	int64_t step;
	struct cursor cursor;
};

struct model {
	struct gpu *gpu;
	const struct config *config;
	struct graph graph;
	struct gpu_program *program;
	struct plan train, evaluate, predict, final;
	struct gpu_buffer *arena[ARENA_MAX], **buffer; /* buffer[i]: the sub-buffer of tensor i */
	struct share share;                            /* empty where the graph has one micro-batch */
	struct feed feed;
	struct flight *flight; /* [flights] */
	uint32_t flights;
	struct gpu_host
		*fault_host;      /* memory of `read_fault`, pinned so that no read makes the caller wait */
	struct fault *read_fault; /* [flights], the fault of each flight */
	uint64_t given, completed,
		handed_back;   /* how many batches so far; batch n is in flight[n % flights] */
	struct fault fault;    /* the first fault; later faults do not replace it */
	struct bad_number bad; /* the number in the batch that caused the fault */
	uint64_t step;
	struct cursor cursor;
	/* The snapshot: */
	struct gpu_buffer *shadow;
	struct gpu_event copied;
	struct counters counters;
	struct model_tensor *tensor, *snapshot; /* tensors: without data; with the data of a snapshot */
	uint32_t *tensor_index, tensors;
	atomic_bool snapshot_busy;
	/* The last result of model_gradients(): */
	bool trained; /* true: there was a training step since model_open() */
	uint8_t *gradients;
	struct model_tensor *gradient;
};

/* Waits for every batch in flight. Errors: -EDOM a batch had a fault; the text names tensor and step. */
MUST_CHECK int model_drain(struct model *model, struct error *err);
/* Makes the list of the state's tensors. */
MUST_CHECK int state_open(struct model *model, struct error *err);
void state_close(struct model *model);
/* Returns -EDOM with a text for a fault, which names tensor and step. `bad` is the number in the batch that
 * caused the fault; NULL: the batch was not searched. */
int state_fault(const struct model *model, const struct fault *fault, const struct bad_number *bad,
		struct error *err);
/* Returns the first number of the batch's inputs, labels and weights that is not finite. Empty rows are not
 * searched. */
struct bad_number state_bad_number(const struct graph *graph, const struct model_batch *batch);
