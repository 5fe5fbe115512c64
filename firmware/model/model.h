/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model on an OpenCL device, as traind and `kiln predict` use it: built from the config, stepped batch by batch,
 * snapshotted to and loaded from named tensors. Everything between two waits only enqueues on one in-order queue.
 *
 * Order: model_open -> (model_init | model_tensor_load*) -> (model_train | model_evaluate | model_metrics |
 * model_snapshot)* -> model_close. One thread.
 * Same device, same seed, same batches: same bits.
 */
#pragma once

#include "core/config.h"
#include "core/cursor.h"
#include "core/error.h"

struct gpu;
struct model;

/* One batch. Pointers are host memory (a ring slot); on a CPU device they are used in place, so they must stay until
 * model_batch_done() says so. */
struct model_batch {
	const void *input;      /* float32 [rows, input elements] */
	const void *label;      /* int64 [rows, classes] one-hot */
	const uint8_t *empty;   /* one byte a row, 1 = skipped record (weight 0); NULL = none */
	uint32_t rows, valid_rows;
	uint64_t first_row; /* index of row 0 in the global order of the segment: dropout's counter */
	void *ticket;       /* the caller's; handed back by model_batch_done() */
};

struct model_metrics {
	double loss, accuracy; /* means over the valid rows since the last model_metrics_reset */
	uint64_t rows;
};

/* A tensor of the state arena, as a checkpoint holds it. */
struct model_tensor {
	const char *name;  /* "dense/kernel", "optimizer/m/dense/kernel", "state/step" ... */
	const char *dtype; /* safetensors names: F32, I64, U32, U8 */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	const void *data; /* into the snapshot */
	uint64_t bytes;
};

/* Build graph, plan and kernels. `training` false: forward only (predict). */
MUST_CHECK int model_open(struct gpu *gpu, const struct config *config, bool training, struct model **ret_model,
			  struct error *err);
void model_close(struct model *model);
void model_closep(struct model **model);

/* Hash of the graph (layers, shapes, optimizer kind): a checkpoint of another one is refused. 64 hex digits. */
const char *model_graph_hash(const struct model *model);
/* Fill parameters by their initializers from config.run.seed and zero everything else. */
MUST_CHECK int model_init(struct model *model, struct error *err);

MUST_CHECK int model_train(struct model *model, const struct model_batch *batch, struct error *err);
MUST_CHECK int model_evaluate(struct model *model, const struct model_batch *batch, struct error *err);
/* The oldest batch given and not yet handed back, once the device is done with its memory. NULL: none is ready.
 * `wait` blocks for it. At most MODEL_BATCHES_AHEAD are in flight; model_train waits by itself beyond that. */
#define MODEL_BATCHES_AHEAD 2u
MUST_CHECK int model_batch_done(struct model *model, bool wait, void **ret_ticket, struct error *err);

/* Waits for the queue. -EDOM when a loss or parameter became NaN or infinite, naming the tensor and step. */
MUST_CHECK int model_metrics(struct model *model, struct model_metrics *ret_metrics, struct error *err);
MUST_CHECK int model_metrics_reset(struct model *model, struct error *err);

/* Probabilities for `rows` rows, [rows, classes]. Blocks. */
MUST_CHECK int model_predict(struct model *model, const float *input, uint32_t rows, float *ret_probabilities,
			     struct error *err);

/* Copy the state arena aside on the queue, between two steps. -EBUSY while the last snapshot is not released: skip. */
MUST_CHECK int model_snapshot(struct model *model, struct error *err);
/* Any one thread: wait for the copy and list its tensors (valid until model_snapshot_release). -EDOM if its step was NaN. */
MUST_CHECK int model_snapshot_tensors(struct model *model, const struct model_tensor **ret_tensors,
				      uint32_t *ret_count, struct error *err);
void model_snapshot_release(struct model *model);

/* The tensors a checkpoint of this model must hold (data NULL), in arena order. */
const struct model_tensor *model_tensors(const struct model *model, uint32_t *ret_count);
/* Write one tensor of the arena by name; bytes must match. */
MUST_CHECK int model_tensor_load(struct model *model, const char *name, const void *data, uint64_t bytes,
				 struct error *err);

/* Place of the run, kept in the arena ("state/cursor"), so that a snapshot holds the state and its place together. */
void model_cursor_set(struct model *model, const struct cursor *cursor);
MUST_CHECK int model_cursor_get(struct model *model, struct cursor *ret_cursor, struct error *err);

uint64_t model_input_elements(const struct model *model);
uint64_t model_classes(const struct model *model);
uint64_t model_parameters(const struct model *model);
