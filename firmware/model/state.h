/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a model, shared by model.c (batches) and state.c (the state arena, which outlives a batch).
 */
#pragma once

#include "core/ring/cursor.h"
#include "drivers/gpu/gpu.h"
#include "model/feed.h"
#include "model/model.h"
#include "model/plan/plan.h"

#include <stdatomic.h>

/* The fault of a pass, as metrics.cl, embedding.cl and loss_scale.cl report it. */
enum fault_what { FAULT_NONE, FAULT_LOSS, FAULT_PARAMETER, FAULT_LABEL, FAULT_ID, FAULT_SCALE };
struct fault {
	uint32_t what, step, element; /* `element`: for FAULT_LABEL and FAULT_ID the row of the batch */
	uint32_t row, found_low, found_high;
	uint32_t node; /* for FAULT_LABEL the label's element */
};
static_assert(sizeof(struct fault) == FAULT_WORDS * sizeof(uint32_t), "as metrics.cl has it");

/* A batch given to the device; its memory must last until the batch is complete. */
struct flight {
	struct gpu_event event;
	struct fault fault; /* read on the queue after the batch */
	struct model_batch batch;
};

/* A number of a batch that is NaN or infinite; `tensor` GRAPH_NO_TENSOR: there is none. */
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
	struct gpu_buffer *arena[ARENA_MAX], **part; /* part: the sub-buffer of each tensor */
	struct feed feed;
	struct flight flight[MODEL_TICKETS_MAX];
	uint64_t given, completed,
		handed_back;   /* counts of batches; flight[n % MODEL_TICKETS_MAX] is batch n */
	struct fault fault;    /* the first fault; it stays */
	struct bad_number bad; /* the cause in its batch */
	uint64_t step;
	struct cursor cursor;
	/* The snapshot: */
	struct gpu_buffer *shadow;
	struct gpu_event copied;
	struct counters counters;
	struct model_tensor *tensor, *snapshot; /* tensors without, and with data */
	uint32_t *tensor_index, tensors;
	atomic_bool snapshot_busy;
	/* The last result of model_gradients(): */
	bool trained; /* there was a step since model_open() */
	uint8_t *gradients;
	struct model_tensor *gradient;
};

/* Makes the list of the state's tensors. */
MUST_CHECK int state_open(struct model *model, struct error *err);
void state_close(struct model *model);
/* Returns -EDOM with tensor and step for a fault, else 0. `bad` is the number of the batch that caused it;
 * NULL: the batch was not searched. */
int state_fault(const struct model *model, const struct fault *fault, const struct bad_number *bad,
		struct error *err);
/* Returns the first number of the batch's inputs, labels and weights that is not finite. Empty rows are left
 * out. */
struct bad_number state_bad_number(const struct graph *graph, const struct model_batch *batch);
