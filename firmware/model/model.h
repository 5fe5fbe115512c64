/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model on an OpenCL device, as traind and `kiln predict` use it: built from the config, stepped batch by
 * batch, snapshotted to and loaded from named tensors. Everything between two waits only enqueues on one
 * in-order queue.
 *
 * Order: gpu_open -> model_open -> (model_init | model_tensor_load*) -> (model_train | model_evaluate |
 * model_finalize | model_metrics | model_metrics_reset | model_batch_done | model_snapshot |
 * model_gradients | model_cursor_set)* -> model_close -> gpu_close. One thread,
 * except model_snapshot_tensors() and model_snapshot_release(), which one other
 * thread may call. Same build, same device, same seed, same batches: same bits, whatever was snapshotted or
 * loaded in between.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/ring/cursor.h"

struct gpu;
struct graph;
struct model;

#define MODEL_INPUTS_MAX 16u

/* What a batch must bring: a column of the ring (data/batch.h). A ragged feature is two, its values and its
 * splits. */
struct model_input {
	const char *name;
	enum config_dtype dtype;
	uint64_t row_bytes; /* of splits, 8; of values, 0 */
	uint64_t bytes;     /* for config.run.batch_rows rows */
};

/* One batch. Pointers are host memory (a ring slot) and must stay until model_batch_done() hands the ticket
 * back, or, without one, until the batch is complete: a CPU device uses them in place, and where a number
 * became NaN they are searched for its cause. */
struct model_batch {
	const void *input[MODEL_INPUTS_MAX]; /* as model_inputs() lists them; rows marked empty hold finite
					      * numbers (zeros) */
	const void *label;                   /* as model_label() has it: one-hot, a class, or numbers, by the
					      * loss */
	const float *weight;                 /* what each row counts; NULL = 1, or without sample weights */
	const uint8_t *empty;                /* one byte a row, 1 = skipped record (weight 0); NULL = none */
	uint32_t rows,
		valid_rows; /* 1 <= rows <= config.run.batch_rows; valid_rows = rows that are not empty */
	uint64_t first_row; /* index of row 0 in the global order of the segment: dropout's counter */
	void *ticket;       /* the caller's, handed back by model_batch_done(); NULL = nobody waits for it */
};

struct model_metrics {
	double loss, accuracy; /* means over the valid rows since the last model_metrics_reset(); 0 without
				* rows; NAN: the loss has no accuracy */
	double top_k;          /* the same, of config.model.top_k classes; 0 without */
	uint64_t rows;
};

/* A tensor of the state arena, as a checkpoint holds it. */
struct model_tensor {
	const char *name;  /* "dense/kernel", "optimizer/m/dense/kernel", "state/step" ... */
	const char *dtype; /* safetensors names: F32, I64, U8 */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	const void *data; /* into the snapshot */
	uint64_t bytes;
};

/* Build graph, plan and kernels. `training` false: forward only (predict); the state then is the parameters
 * alone. The config must outlive the model. Errors: -EINVAL a wrong layer, attribute, loss or optimizer: the
 * text names layer, line, found and allowed; or the device has too little memory: how much, for what. */
MUST_CHECK int model_open(struct gpu *gpu, const struct config *config, bool training,
			  struct model **ret_model, struct error *err);
/* Waits for the queue. A snapshot must have been released. Accepts NULL. */
void model_close(struct model *model);
void model_closep(struct model **model);

/* SHA-256 of the graph (layers, attributes that change the mathematics, shapes, loss, optimizer kind): a
 * checkpoint of another one is refused. 64 hex digits. Rates and seeds are not in it. */
const char *model_graph_hash(const struct model *model);
/* The same of the layers alone: not of the loss, the optimizer and what is frozen. The weights of one fit the
 * other, in the same places. */
const char *model_layers_hash(const struct model *model);
/* The model's; until model_close(). */
const struct graph *model_graph(const struct model *model);
/* Fill parameters by their initializers from config.run.seed and zero everything else; step 0, cursor fresh
 * (version = CURSOR_VERSION, all else zero). Blocks. */
MUST_CHECK int model_init(struct model *model, struct error *err);

/* Enqueue one batch. At most MODEL_BATCHES_AHEAD are in flight: waits for the oldest beyond that.
 * Errors: -EDOM an earlier batch made the loss or a parameter NaN or infinite (text: tensor and step, and the
 * input, row and element if the batch has such numbers); it stays so. -EBUSY MODEL_TICKETS_MAX tickets wait
 * for model_batch_done(). */
#define MODEL_BATCHES_AHEAD 2u
#define MODEL_TICKETS_MAX   16u
MUST_CHECK int model_train(struct model *model, const struct model_batch *batch, struct error *err);
/* Loss and accuracy only; dropout is off, nothing is learnt, the step stays. */
MUST_CHECK int model_evaluate(struct model *model, const struct model_batch *batch, struct error *err);
/* Training is over: with optimizer.use_ema the parameters become their moving average, as at the end of
 * Keras's fit(), for what is evaluated and snapshotted from here on. Again: nothing more changes. */
MUST_CHECK int model_finalize(struct model *model, struct error *err);
/* The ticket of the oldest batch not yet handed back, once the device is done with its memory. NULL: none is
 * ready. `wait` blocks for it. */
MUST_CHECK int model_batch_done(struct model *model, bool wait, void **ret_ticket, struct error *err);

/* What was wrong with a batch that is complete, without a wait: 0 nothing, or -EDOM as model_train() has it;
 * *ret_row then is the row of that batch that is the cause, or UINT32_MAX: it is not known. */
MUST_CHECK int model_fault(const struct model *model, uint32_t *ret_row, struct error *err);

/* Training steps enqueued since model_init(), those of a loaded checkpoint included. */
uint64_t model_step(const struct model *model);

/* Waits for the queue. -EDOM when a loss or parameter became NaN or infinite, naming the tensor and step. */
MUST_CHECK int model_metrics(struct model *model, struct model_metrics *ret_metrics, struct error *err);
/* Cache the compiled kernels for the next start, once, behind a training step. Waits for the queue. Errors:
 * -EDOM as above; others name the file that cannot be written, and only the next start suffers. */
MUST_CHECK int model_keep_kernels(struct model *model, struct error *err);
/* What the loss is scaled with, and how many steps were skipped for it (loss_scale.h); 1 and 0 where nothing
 * is scaled. Waits for the queue. */
MUST_CHECK int model_loss_scale(struct model *model, double *ret_scale, uint64_t *ret_skipped,
				struct error *err);
MUST_CHECK int model_metrics_reset(struct model *model, struct error *err);

/* What the last layer makes of `rows` rows (with ragged inputs at most a batch, else any number): [rows,
 * outputs]. `input` as in struct model_batch. Blocks. -EDOM an id out of range, naming layer and row. */
MUST_CHECK int model_predict(struct model *model, const void *const *input, uint64_t rows, float *ret_outputs,
			     struct error *err);

/* Copy the state arena aside on the queue, between two steps. -EBUSY while the last snapshot is not released:
 * skip. */
MUST_CHECK int model_snapshot(struct model *model, struct error *err);
/* Any one thread: wait for the copy and list its tensors (valid until model_snapshot_release),
 * model_tensors() with data. -EDOM if it holds a NaN: it must not be published. Release it in every case. */
MUST_CHECK int model_snapshot_tensors(struct model *model, const struct model_tensor **ret_tensors,
				      uint32_t *ret_count, struct error *err);
void model_snapshot_release(struct model *model);

/* The gradients that the last training step gave the optimizer, under the names of their parameters. Waits
 * for the queue; list and data are the model's, valid until the next call. None (*ret_count 0) without a
 * step since model_open(): they are in no checkpoint. */
MUST_CHECK int model_gradients(struct model *model, const struct model_tensor **ret_tensors,
			       uint32_t *ret_count, struct error *err);

/* What the last training step multiplied its update with; before the first one, what that will. */
double model_learning_rate(const struct model *model);
/* From the next step on the learning rate is this one, whatever the configuration says; 0: what it says. It
 * is not in the state. */
void model_learning_rate_set(struct model *model, double rate);

/* The tensors a checkpoint of this model must hold (data NULL), in arena order. */
const struct model_tensor *model_tensors(const struct model *model, uint32_t *ret_count);
/* Write one tensor of the state by name, "state/step" and "state/cursor" included. Blocks.
 * Errors: -ENOENT no such tensor; -EBADMSG another size. */
MUST_CHECK int model_tensor_load(struct model *model, const char *name, const void *data, uint64_t bytes,
				 struct error *err);

/* Place of the run, kept in the state ("state/cursor"), so that a snapshot holds the state and its place
 * together: set it after each batch to the cursor behind it. */
void model_cursor_set(struct model *model, const struct cursor *cursor);
void model_cursor_get(const struct model *model, struct cursor *ret_cursor);

/* How many there are; config.model.input, if one of them, is the first. Names live as long as the model. */
uint32_t model_inputs(const struct model *model, struct model_input ret_inputs[static MODEL_INPUTS_MAX]);
/* The label, and what rows count: `name` NULL without config.model.sample_weight. */
struct model_input model_label(const struct model *model);
struct model_input model_sample_weight(const struct model *model);
/* Outputs of a row. */
uint64_t model_classes(const struct model *model);
uint64_t model_parameters(const struct model *model);
