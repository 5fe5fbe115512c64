/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model on an OpenCL device: traind trains it, `kiln predict` and `kiln evaluate` use it. It is built from
 * the configuration, stepped batch by batch, copied to named tensors (a snapshot) and loaded from them. Every
 * call that does not say "waits" only enqueues work on one in-order queue.
 *
 * Order: gpu_open -> model_open -> (model_init | model_tensor_load*) -> (model_train | model_evaluate |
 * model_finalize | model_metrics | model_metrics_reset | model_batch_done | model_snapshot | model_gradients
 * | model_cursor_set)* -> model_close -> gpu_close.
 *
 * Threads: one thread calls everything, except model_snapshot_tensors() and model_snapshot_release(), which
 * one other thread may call (traind's writer of checkpoints).
 *
 * Owners: the model owns its buffers on the device, its graph and its plans. The caller owns the
 * configuration and the memory of a batch; a CPU device reads that memory in place until the batch's ticket
 * is handed back.
 *
 * Crash: nothing here survives one. A checkpoint, written from a snapshot, does: traind loads the newest
 * whole one and goes on from the cursor in it. Same build, device, seed and batches give the same bits,
 * whatever was snapshotted or loaded in between, so the repeated steps end where the lost ones did.
 *
 * The folders, each stands on those before it:
 *   graph/    tensors and nodes, without any device; the generator of random numbers
 *   formats/  files: safetensors, TensorBoard's events, protocol buffers
 *   plan/     launches of kernels: products, convolutions, fusion, chains, the OpenCL program
 *   export/   trained models as ONNX and SavedModel
 *   layers/   the table of layers
 *   learn/    losses, metrics, optimizers, schedules, what happens at the end of an epoch
 *   kernels/  OpenCL sources, embedded at build
 * Above them stand the files of this folder: build.h (a graph from a configuration), layout.h and memory.h
 * (where tensors lie), passes.h (launches of a step), model.h, state.h, feed.h, adapt.h, checkpoint.h,
 * weights.h, self_test.h.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/ring/cursor.h"

struct gpu;
struct graph;
struct model;

#define MODEL_INPUTS_MAX 16u

/* A column of the ring (data/batch.h) that a batch must bring. A ragged feature is two columns: its values
 * and its splits. */
struct model_input {
	const char *name;
	enum config_dtype dtype;
	uint64_t row_bytes; /* 8 for splits, 0 for ragged values */
	uint64_t bytes;     /* for config.run.batch_rows rows */
};

/* A batch. The pointers are host memory, usually a ring slot. The memory must stay until model_batch_done()
 * hands the ticket back, or, without a ticket, until the batch is complete: a CPU device reads it in place,
 * and after a NaN the model searches it for the cause. */
struct model_batch {
	const void
		*input[MODEL_INPUTS_MAX]; /* in the order of model_inputs(); rows marked empty hold zeros */
	const void *label;    /* has the type of model_label(): one-hot, a class or numbers, by the loss */
	const float *weight;  /* sample weight of each row; NULL: 1 each */
	const uint8_t *empty; /* a byte per row, 1 = a skipped record, of weight 0; NULL = no row is empty */
	uint32_t rows,
		valid_rows; /* 1 <= rows <= config.run.batch_rows; valid_rows = rows that are not empty */
	uint64_t first_row; /* index of row 0 in the global order of the segment: dropout's counter */
	void *ticket;       /* the caller's, handed back by model_batch_done(); NULL: nobody waits for it */
};

struct model_metrics {
	double loss, accuracy; /* means over the valid rows since the last model_metrics_reset(); 0 without
				* rows; NAN: the loss has no accuracy */
	double top_k;          /* accuracy among the config.model.top_k best classes; 0 without top_k */
	uint64_t rows;
};

/* A tensor of the state, in the form in which a checkpoint holds it. */
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

/* Returns the SHA-256 of the graph (layers, attributes that change the mathematics, shapes, loss, optimizer),
 * 64 hex digits. A checkpoint with another hash is refused. Rates and seeds are not hashed. */
const char *model_graph_hash(const struct model *model);
/* Returns the SHA-256 of the layers alone, without the loss, the optimizer and what is frozen. Two models of
 * the same hash can exchange their weights. */
const char *model_layers_hash(const struct model *model);
/* Returns the model's graph, valid until model_close(). */
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
/* Enqueues one batch for loss and accuracy only: dropout is off, nothing is learnt, the step stays. */
MUST_CHECK int model_evaluate(struct model *model, const struct model_batch *batch, struct error *err);
/* Ends training: with optimizer.use_ema the parameters become their moving average, as at the end of Keras's
 * fit(). Later evaluations and snapshots see the average. A second call changes nothing. */
MUST_CHECK int model_finalize(struct model *model, struct error *err);
/* Hands back the ticket of the oldest batch as soon as the device is done with its memory; NULL: no batch is.
 * Blocks for it with `wait`. */
MUST_CHECK int model_batch_done(struct model *model, bool wait, void **ret_ticket, struct error *err);

/* Returns 0, or -EDOM with the text of model_train() if a complete batch had a fault, without a wait.
 * *ret_row is the row of that batch that caused it, or UINT32_MAX: not known. */
MUST_CHECK int model_fault(const struct model *model, uint32_t *ret_row, struct error *err);

/* Returns the number of training steps enqueued since model_init(), plus those of a loaded checkpoint. */
uint64_t model_step(const struct model *model);

/* Waits for the queue. -EDOM when a loss or parameter became NaN or infinite, naming the tensor and step. */
MUST_CHECK int model_metrics(struct model *model, struct model_metrics *ret_metrics, struct error *err);
/* Caches the compiled kernels for the next start, once, after a training step. Waits for the queue. Errors:
 * -EDOM as above; other errors name the file that cannot be written, and only slow the next start. */
MUST_CHECK int model_keep_kernels(struct model *model, struct error *err);
/* Returns the loss scale and the number of steps that were skipped for it (loss_scale.h); 1 and 0 where
 * nothing is scaled. Waits for the queue. */
MUST_CHECK int model_loss_scale(struct model *model, double *ret_scale, uint64_t *ret_skipped,
				struct error *err);
MUST_CHECK int model_metrics_reset(struct model *model, struct error *err);

/* Predicts: writes the outputs of the last layer, [rows, outputs], for `rows` rows (any number; with ragged
 * inputs at most a batch). `input` is as in struct model_batch. Blocks. Errors: -EDOM an id is out of range,
 * the text names layer and row. */
MUST_CHECK int model_predict(struct model *model, const void *const *input, uint64_t rows, float *ret_outputs,
			     struct error *err);

/* Copies the state arena into a second buffer, on the queue, between two steps. Errors: -EBUSY the last
 * snapshot is not released yet: skip this one. */
MUST_CHECK int model_snapshot(struct model *model, struct error *err);
/* Waits for the copy and lists its tensors with their data, valid until model_snapshot_release(). One thread
 * at a time, any. Errors: -EDOM the copy holds a NaN and must not be published. Release the snapshot after an
 * error, too. */
MUST_CHECK int model_snapshot_tensors(struct model *model, const struct model_tensor **ret_tensors,
				      uint32_t *ret_count, struct error *err);
void model_snapshot_release(struct model *model);

/* Returns the gradients that the last training step gave the optimizer, under the names of their parameters.
 * Waits for the queue. The list and its data are the model's, valid until the next call. *ret_count is 0
 * before the first step since model_open(): a checkpoint holds no gradients. */
MUST_CHECK int model_gradients(struct model *model, const struct model_tensor **ret_tensors,
			       uint32_t *ret_count, struct error *err);

/* Returns the learning rate of the last training step; before the first step, that of the first. */
double model_learning_rate(const struct model *model);
/* Sets the learning rate from the next step on, in the place of the configuration's; 0: back to the
 * configuration. The state does not hold it. */
void model_learning_rate_set(struct model *model, double rate);

/* Returns the tensors that a checkpoint of this model must hold, in the order of the state arena, without
 * data. */
const struct model_tensor *model_tensors(const struct model *model, uint32_t *ret_count);
/* Write one tensor of the state by name, "state/step" and "state/cursor" included. Blocks.
 * Errors: -ENOENT no such tensor; -EBADMSG another size. */
MUST_CHECK int model_tensor_load(struct model *model, const char *name, const void *data, uint64_t bytes,
				 struct error *err);

/* Sets the cursor of the run in the state ("state/cursor"). Set it after each batch, so that a snapshot holds
 * weights and cursor of the same batch. */
void model_cursor_set(struct model *model, const struct cursor *cursor);
void model_cursor_get(const struct model *model, struct cursor *ret_cursor);

/* Lists the inputs of a batch and returns how many they are. config.model.input, if a layer takes it, is the
 * first. Names live as long as the model. */
uint32_t model_inputs(const struct model *model, struct model_input ret_inputs[static MODEL_INPUTS_MAX]);
/* Describe the column of the label, and that of the sample weights: `name` NULL without
 * config.model.sample_weight. */
struct model_input model_label(const struct model *model);
struct model_input model_sample_weight(const struct model *model);
/* Returns the number of outputs of a row. */
uint64_t model_classes(const struct model *model);
uint64_t model_parameters(const struct model *model);
