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
 * Crash: a model does not survive a crash, but the checkpoints that were written from its snapshots do:
 * traind loads the newest undamaged checkpoint and continues at the cursor in it. The same build, device,
 * seed and batches give the same bits, with or without snapshots and loads in between. So the repeated steps
 * have the same result as the lost ones.
 *
 * The folders, each stands on those before it:
 *   graph/    tensors and nodes, without any device; the generator of random numbers
 *   formats/  files: safetensors, TensorBoard's events, protocol buffers
 *   plan/     launches of kernels: products, convolutions, fusion, chains, the OpenCL program
 *   export/   trained models as ONNX and SavedModel
 *   layers/   the table of layers
 *   base/     known image networks as lists of layers
 *   learn/    losses, metrics, optimizers, schedules, what happens at the end of an epoch
 *   kernels/  OpenCL sources, embedded at build
 * The files of this folder use the folders: build.h (a graph from a configuration), layout.h (the offsets of
 * tensors), memory.h (how much memory they need), passes.h (launches of a step), share.h (the micro-batches
 * of a process), exchange.h (gradients between processes), model.h, state.h, feed.h, adapt.h, checkpoint.h,
 * weights.h, convert.h, config_text.h, self_test.h.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"
#include "core/ring/cursor.h"
#include "data/order.h"
#include "model/formats/model_tensor.h"

struct gpu;
struct graph;
struct model;

#define MODEL_INPUTS_MAX 2048u

/* A column of the ring (data/batch.h) that a batch must have. A ragged feature has two columns: its values
 * and its splits. */
struct model_input {
	const char *name;
	enum config_dtype dtype;
	uint64_t row_bytes; /* bytes of one row; 8 for splits, 0 for ragged values */
	uint64_t bytes;     /* bytes of the column for model_batch_rows() rows */
};

/* A batch. The pointers are host memory, usually a ring slot. The memory must stay until model_batch_done()
 * hands the ticket back, or, without a ticket, until the batch is complete: a CPU device reads it in place,
 * and after a NaN the model searches it for the cause. */
struct model_batch {
	const void
		*input[MODEL_INPUTS_MAX]; /* in the order of model_inputs(); rows marked empty hold zeros */
	const void *label;         /* type of model_label(): by the loss one-hot, a class, or numbers */
	const float *weight;       /* sample weight of each row; NULL: all rows have weight 1 */
	const uint8_t *empty;      /* a byte per row, 1 = a skipped record, which has weight 0; NULL: none */
	uint32_t rows, valid_rows; /* 1 <= rows <= model_batch_rows(); valid_rows = rows that are not empty */
	uint64_t first_row; /* index of row 0 in the segment, one pass over a split; dropout depends on it */
	struct order_part part; /* which rows of the pass these are, for texts of errors: row r is row
				   first_row + order_batch_row(&part, r) */
	void *ticket; /* a pointer of the caller, which model_batch_done() hands back; NULL: nobody waits */
};

struct model_metrics {
	double loss, accuracy; /* means over the valid rows since the last model_metrics_reset(); 0 if there
				  were none. accuracy NAN: the loss has none */
	double top_k; /* share of rows whose class is among the config.model.top_k best; 0 without top_k */
	uint64_t rows;
};

/* Build graph, plan and kernels. `training` false: forward pass only, for predictions; the state then has
 * only parameters and state of layers. The config must outlive the model. Errors: -EINVAL a wrong layer,
 * attribute, loss or optimizer: the text names layer, line, found and allowed; or the device has too little
 * memory: the text says how much is needed, and for what. */
MUST_CHECK int model_open(struct gpu *gpu, const struct config *config, bool training,
			  struct model **ret_model, struct error *err);
/* Does what model_open() does without training, for the base of the configuration alone (graph_build_base()):
 * model_predict() gives the outputs of the base. Errors: those of model_open() and graph_build_base(). */
MUST_CHECK int model_open_base(struct gpu *gpu, const struct config *config, struct model **ret_model,
			       struct error *err);
/* Waits for the queue. Release the last snapshot before this call. Accepts NULL. */
void model_close(struct model *model);
void model_closep(struct model **model);

/* Returns the SHA-256 of the graph (layers, attributes that change the mathematics, shapes, loss, optimizer),
 * 64 hex digits. A checkpoint with another hash is refused. Rates and seeds are not hashed. */
const char *model_graph_hash(const struct model *model);
/* Returns the SHA-256 of the layers alone, without the loss, the optimizer and what is frozen. Two models
 * with the same hash can exchange their weights. */
const char *model_layers_hash(const struct model *model);
/* Returns the model's graph, valid until model_close(). */
const struct graph *model_graph(const struct model *model);
/* Fill parameters by their initializers from config.run.seed and zero everything else; step 0, cursor fresh
 * (version = CURSOR_VERSION, all else zero). Blocks. */
MUST_CHECK int model_init(struct model *model, struct error *err);

/* How a process of a run exchanges with the others; drivers/ranks/ranks.h says what the two halves are, and
 * which chunk is whose. All processes make the same calls in the same order. */
enum model_half {
	/* The own chunk becomes the sum of all processes, in the order of the tree of plan/parts.h. The
	 * others are undefined. */
	MODEL_REDUCE,
	/* All chunks become those of their owners. */
	MODEL_SPREAD,
	/* The same of values that are no gradients, such as weights and counts: nothing is rounded. */
	MODEL_REDUCE_EXACT,
	MODEL_SPREAD_EXACT,
};
struct model_exchange {
	uint32_t world, rank; /* how many processes, and which one this is */
	/* Begins a half of the exchange of `values` [count], which are the callee's until wait() has returned
	 * for the ticket or a later one. The halves run in the order of their starts. */
	int (*start)(void *arg, enum model_half half, float *values, uint64_t count, uint64_t *ret_ticket,
		     struct error *err);
	int (*wait)(void *arg, uint64_t ticket, struct error *err); /* blocks */
	void *arg;
	uint64_t bucket_bytes; /* of gradients that are exchanged at a time (exchange.h) */
	bool rounds;           /* gradients are rounded on their way */
};
/* Tells which micro-batches of each step (plan/parts.h) this process computes: `count` from `first` on, an
 * aligned subtree. Others compute the rest, and `exchange` adds their gradients; NULL where there are no
 * others. A batch then has the rows of these micro-batches, side by side.
 * After model_open() it is all micro-batches. Call it before the first batch. Errors: -EINVAL out of range;
 * -ENOMEM; those of the device. */
MUST_CHECK int model_share(struct model *model, uint32_t first, uint32_t count,
			   const struct model_exchange *exchange, struct error *err);

/* Gives all processes the optimizer's slots of all, where they divide the update among them (exchange.h):
 * until then each has only its own up to date. Call it in all processes, before a snapshot of slots. Blocks.
 * Errors: those of struct model_exchange, and those of the device. */
MUST_CHECK int model_gather(struct model *model, struct error *err);

/* The sums of loss and metrics of a lane, since the last model_metrics_reset(). A micro-batch of several
 * lanes is counted in the first of them. */
struct model_sums {
	float loss[2]; /* the loss is loss[0] - loss[1] */
	int64_t correct, top, rows;
};
#define MODEL_LANES_MAX 32u
/* Returns the most rows of a batch: run.batch_rows, or, of the micro-batches of this process, exactly the
 * rows of each batch. */
uint64_t model_batch_rows(const struct model *model);
/* Returns the number of lanes of a training model: order.lanes. */
uint32_t model_lanes(const struct model *model);
/* Read and write the sums of all lanes, those of other processes, too: to collect them in one process
 * before it reports the metrics or takes a snapshot. Wait for the queue. Errors: those of model_metrics(). */
MUST_CHECK int model_sums_get(struct model *model, struct model_sums ret_sums[static MODEL_LANES_MAX],
			      struct error *err);
MUST_CHECK int model_sums_set(struct model *model, const struct model_sums sums[static MODEL_LANES_MAX],
			      struct error *err);

/* Tells that batches will lie in this memory, such as a ring, so that a GPU with memory of its own copies
 * them from there without the host's help. The memory begins at a page, may be written, and stays mapped
 * until the next call or model_close(). NULL: batches lie anywhere, as after model_open(). Batches outside
 * the memory are allowed, too. Waits for the batches in flight. Errors: -ENOMEM or another code of the
 * driver, which does not pin the memory; batches may lie there, but the host copies each of them once more.
 */
MUST_CHECK int model_batch_memory(struct model *model, void *memory, uint64_t bytes, struct error *err);

/* Enqueues one batch. If MODEL_BATCHES_AHEAD batches are in flight, first waits for the oldest of them.
 * Errors: -EDOM an earlier batch made the loss or a parameter NaN or infinite; the text names tensor and
 * step, and if the batch itself has such a number its input, row and element. All later calls return this
 * error, too. With other processes (model_share()) no call returns it, because they wait for the gradients of
 * this step: look at model_fault() before each batch. -EBUSY MODEL_TICKETS_MAX tickets wait for
 * model_batch_done(). */
#define MODEL_BATCHES_AHEAD 2u
#define MODEL_TICKETS_MAX   16u
MUST_CHECK int model_train(struct model *model, const struct model_batch *batch, struct error *err);
/* Enqueues one batch for loss and accuracy only: dropout is off, nothing is learnt, and the number of steps
 * does not change. */
MUST_CHECK int model_evaluate(struct model *model, const struct model_batch *batch, struct error *err);
/* Ends training: with optimizer.use_ema the parameters become their moving average, as at the end of Keras's
 * fit(). Later evaluations and snapshots see the average. A second call changes nothing. */
MUST_CHECK int model_finalize(struct model *model, struct error *err);
/* Hands back the ticket of the oldest batch if the device no longer reads the memory of that batch; NULL:
 * there is no such batch yet. With `wait`, blocks until there is one. */
MUST_CHECK int model_batch_done(struct model *model, bool wait, void **ret_ticket, struct error *err);

/* Returns -EDOM with the text of model_train() if a completed batch had a fault, else 0. Does not wait.
 * *ret_row is the row of that batch that caused the fault, or UINT32_MAX if the row is not known. */
MUST_CHECK int model_fault(const struct model *model, uint32_t *ret_row, struct error *err);

/* Forgets the fault of batches that were only evaluated: they have changed no parameter. Waits for all
 * batches in flight and resets the metrics. Errors: -EDOM the fault is of a parameter; it stays. */
MUST_CHECK int model_fault_forget(struct model *model, struct error *err);

/* Returns the number of training steps enqueued since model_init(), plus the steps of a loaded checkpoint. */
uint64_t model_step(const struct model *model);

/* Waits for the queue. Errors: -EDOM the loss or a parameter became NaN or infinite; the text names tensor
 * and step. */
MUST_CHECK int model_metrics(struct model *model, struct model_metrics *ret_metrics, struct error *err);
/* Returns the confusion matrix [classes, classes] of the rows that were evaluated since the last
 * model_metrics_reset(), by label (row) and prediction (column); *ret_classes 0 and NULL: the network does
 * not choose one class of 2 .. METRICS_CONFUSION_MAX. A count that does not fit 32 bits begins again at 0.
 * Waits for the queue. The caller frees the matrix. Errors: those of model_metrics(); -ENOMEM. */
MUST_CHECK int model_confusion(struct model *model, uint32_t **ret_matrix, uint64_t *ret_classes,
			       struct error *err);
/* Saves the compiled kernels in a cache for the next start. Call once, after a training step. Waits for the
 * queue. Errors: -EDOM as in model_metrics(). Other errors name the file that cannot be written; they only
 * make the next start slower. */
MUST_CHECK int model_keep_kernels(struct model *model, struct error *err);
/* Returns whether the cache had no compiled kernels of this network: then the device compiles each kernel
 * when it is first launched, which may take half a minute in all. */
bool model_compiles(const struct model *model);
/* Returns the loss scale and the number of steps that it skipped (loss_scale.h); 1 and 0 if the loss is not
 * scaled. Waits for the queue. */
MUST_CHECK int model_loss_scale(struct model *model, double *ret_scale, uint64_t *ret_skipped,
				struct error *err);
MUST_CHECK int model_metrics_reset(struct model *model, struct error *err);

/* Predicts: writes the outputs of the last layer, [rows, outputs], for `rows` rows: any number, but with
 * ragged inputs at most config.run.batch_rows. `input` is as in struct model_batch. Blocks. Errors: -EDOM an
 * id is out of range; the text names layer and row. */
MUST_CHECK int model_predict(struct model *model, const void *const *input, uint64_t rows, float *ret_outputs,
			     struct error *err);

/* Copies the state arena into a second buffer, on the queue, between two steps. Errors: -EBUSY the last
 * snapshot is not released yet; the caller should go on without this snapshot. */
MUST_CHECK int model_snapshot(struct model *model, struct error *err);
/* Waits for the copy and lists its tensors with their data, valid until model_snapshot_release(). Any thread
 * may call it, but only one at a time. Errors: -EDOM the copy holds a NaN and must not be published. Release
 * the snapshot after an error, too. */
MUST_CHECK int model_snapshot_tensors(struct model *model, const struct model_tensor **ret_tensors,
				      uint32_t *ret_count, struct error *err);
void model_snapshot_release(struct model *model);

/* Returns the gradients that the last training step gave the optimizer, under the names of their parameters.
 * Waits for the queue. The model owns the list and its data; they are valid until the next call. Where
 * processes divide the update among them (exchange.h), only the own chunks are the sums. *ret_count is 0
 * before the first step since model_open(): a checkpoint holds no gradients. */
MUST_CHECK int model_gradients(struct model *model, const struct model_tensor **ret_tensors,
			       uint32_t *ret_count, struct error *err);

/* Returns the learning rate of the last training step, or, before any step, of the first step. */
double model_learning_rate(const struct model *model);
/* Sets the learning rate from the next step on, instead of the configured rate; 0: the configured rate again.
 * The rate that is set here is not part of the state. */
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

/* Lists the inputs of a batch and returns how many they are. config.model.input, if a layer reads it, is the
 * first. Names live as long as the model. */
uint32_t model_inputs(const struct model *model, struct model_input ret_inputs[static MODEL_INPUTS_MAX]);
/* Return the columns of the label and of the sample weights. `name` of the latter is NULL without
 * config.model.sample_weight. */
struct model_input model_label(const struct model *model);
struct model_input model_sample_weight(const struct model *model);
/* Returns the number of outputs of a row. */
uint64_t model_classes(const struct model *model);
uint64_t model_parameters(const struct model *model);
/* Returns which tensor cores of the device compute products: "none", those of "warps", or of "warp groups".
 * Each has bits of its own. */
const char *model_tensor_cores(const struct model *model);
