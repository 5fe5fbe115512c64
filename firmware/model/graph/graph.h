/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model as tensors and nodes, without any device: built and checked from the configuration (build.h). This
 * header has the types and their leaf helpers.
 *
 * Each input of a node is the output of an earlier node or a feature of the batch, so a residual connection
 * is an ordinary node with two inputs. An activation is [rows, shape...], an image [rows, height, width,
 * channels].
 *
 * Each tensor lies at a fixed offset in one of four arenas. The state arena holds everything that a later
 * step or a checkpoint needs, in this order:
 *   parameters to learn | slot 0 of each | slot 1 of each | frozen parameters | state of layers |
 *   metric sums, loss scale, step, cursor | faults
 * Why one arena: a snapshot between two steps is one copy on the device, so training stops for one copy, not
 * for one copy per tensor. Why this order: the parameters to learn lie together, and gradients and slots
 * repeat their layout, so one launch of the optimizer updates all of them, whatever the number of tensors.
 *
 * Threads: none; a graph is built once and then only read. The graph owns its arrays and the constants of its
 * tensors; the configuration that it points into must outlive it.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stddef.h>

#define GRAPH_NAME_BYTES     192u
#define GRAPH_LAYER_NAME_MAX 96u
#define GRAPH_ATTRIBUTES_MAX CONFIG_ATTRIBUTES_MAX
#define GRAPH_PARAMETERS_MAX 8u
#define GRAPH_INPUTS_MAX     2048u /* inputs of a batch; a ragged feature counts as two */
#define GRAPH_SLOTS_MAX      2u
#define GRAPH_HASH_BYTES     65u
#define GRAPH_NO_TENSOR      UINT32_MAX

/* Offsets of tensors are multiples of this. No known device needs a larger alignment for a sub-buffer. */
#define TENSOR_ALIGN 512u
/* Readable bytes after every tensor: the widest tile of a product, 64 floats, may read (not use) numbers past
 * the last row. */
#define TENSOR_SLACK 256u

/* This many neighbouring numbers of the parameter region share one entry of the table of faults. */
#define FAULT_CHUNK 4096u
/* Size of a fault in 32-bit words: struct fault of state.h, written by metrics.cl and embedding.cl. */
#define FAULT_WORDS 7u

struct op;
struct loss;
struct optimizer;

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I64, DTYPE_U32, DTYPE_U8 };

enum role {
	ROLE_INPUT, /* the batch's own memory */
	ROLE_LABEL,
	ROLE_EMPTY,
	ROLE_WEIGHT,
	ROLE_ACTIVATION,
	ROLE_GRADIENT,
	ROLE_PARAMETER,
	ROLE_STATE, /* state of a layer, not learnt: moving averages, statistics of the data */
	ROLE_SLOT,
	ROLE_STAT,    /* metric sums */
	ROLE_SCALE,   /* the loss scale and its counters: loss_scale.h */
	ROLE_COUNTER, /* step and cursor: mirrored on the host, written before a snapshot */
	ROLE_WORK,    /* regions and scratch: not in a checkpoint */
	ROLE_MAX,
};

enum arena { ARENA_BATCH, ARENA_STATE, ARENA_GRADIENT, ARENA_WORK, ARENA_MAX };

struct tensor {
	char name[GRAPH_NAME_BYTES];
	enum dtype dtype;
	enum role role;
	enum arena arena;
	bool rows;      /* the first dimension is the batch's rows; shape[] holds the others */
	bool lazy;      /* a parameter: a step changes only those of its rows whose ids are in the batch */
	bool trainable; /* learnt parameter, or activation that depends on one: the tensor has a gradient */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	uint64_t elements; /* product of shape[]; where `rows` is set, this is the size of one row */
	uint64_t offset, bytes;
	uint32_t gradient;                    /* index of the tensor of the gradient, or GRAPH_NO_TENSOR */
	const char *initializer;              /* parameters and state only */
	const struct config_feature *feature; /* inputs of the batch only */
	uint32_t splits; /* for the values of a ragged input: the tensor of the row splits, [rows + 1];
			    graph_tensor() turns 0 into GRAPH_NO_TENSOR */
	uint32_t mask; /* the ids, an input [steps], that say which steps of this tensor [steps, ...] count: a
			  step with id 0 does not. GRAPH_NO_TENSOR: all count. graph_tensor() turns 0 into
			  GRAPH_NO_TENSOR */
	double l1, l2; /* parameters only: penalties */
	void *constant; /* initial contents, malloc'ed, owned by the graph; NULL: none */
};

struct attribute {
	int64_t i;
	double f;
	bool b;
	const char *s;
	uint32_t items; /* number of items in a list; a single number is a list of one */
	int64_t item[CONFIG_SHAPE_MAX];
	double number[CONFIG_SHAPE_MAX]; /* ATTRIBUTE_IS_FLOATS */
};

struct node {
	const struct op *op;
	char name[GRAPH_LAYER_NAME_MAX + 1];
	unsigned line;
	uint32_t inputs, input[CONFIG_INPUTS_MAX];
	uint32_t output;
	uint32_t parameters, parameter[GRAPH_PARAMETERS_MAX];
	double l1[GRAPH_PARAMETERS_MAX], l2[GRAPH_PARAMETERS_MAX];
	struct attribute attribute[GRAPH_ATTRIBUTES_MAX]; /* in the order of the op's specs */
	bool trainable;                                   /* false: the parameters are frozen */
	const char *activation; /* the op in the key `activation`, or NULL. The next node then is this op, and
				   a layer with this node as its input reads the output of the next node */
	bool is_activation;     /* this node was added because of the `activation` of the node before */
};

/* The members of the graph that belong to learn/gradients.c. Every member is the index of a tensor, except
 * those of the first two lines. */
struct gradients {
	bool prepared, penalized;
	uint64_t chunks, tensors;
	uint32_t chunk, span, penalty_of;
	uint32_t decays; /* one number for each parameter tensor: 0 = excluded from weight decay, else 1 */
	uint32_t chunk_penalty, chunk_square, scale, penalty;
};

/* Indices of the tensors of learn/loss_scale.c; GRAPH_NO_TENSOR if the loss is not scaled. */
struct loss_scale {
	uint32_t scale, steps; /* these two tensors are in the state arena */
	uint32_t bad, verdict;
};

struct graph {
	const struct config *config;
	const struct loss *loss;
	const struct optimizer *optimizer;
	uint32_t tensors, tensors_capacity, nodes;
	struct tensor **tensor;
	struct node *node;
	uint32_t base_nodes,
		base_tensors; /* of config.model.base: its nodes are the first ones; all tensors so far */
	uint32_t inputs, input[GRAPH_INPUTS_MAX]; /* tensors of the inputs of a batch; config.model.input is
						     the first, if a layer reads it */
	uint32_t label, empty, output;
	uint32_t weight; /* sample weights of the batch, or GRAPH_NO_TENSOR */
	uint32_t fault;  /* the first fault: see kernels/metrics.cl and embedding.cl */
	/* These tensors exist for training only, and are GRAPH_NO_TENSOR otherwise: */
	uint32_t row_loss, row_correct; /* loss and hit of each row, written by the loss kernel */
	uint32_t class_weights;         /* or GRAPH_NO_TENSOR */
	uint32_t confusion;             /* or GRAPH_NO_TENSOR: learn/confusion.h */
	uint32_t top_sum;               /* or GRAPH_NO_TENSOR */
	uint32_t loss_sum, correct_sum, rows_sum, step, cursor;
	uint32_t chunk_fault; /* the table of faults: see kernels/metrics.cl */
	uint32_t parameter_region, gradient_region, slot_region[GRAPH_SLOTS_MAX];
	uint32_t accumulator_region, average_region; /* or GRAPH_NO_TENSOR */
	/* With several micro-batches only. The gradient arena is what is summed over them: gradients of
	 * parameters, then `part_tail`: part_rows [16] = {valid rows, micro-batches with a valid row, 0 ...},
	 * and the statistics for the state of layers. */
	uint32_t part_rows, part_tail;
	struct gradients gradients;
	struct loss_scale loss_scale;
	enum dtype storage; /* type of activations, their gradients and copies of weights: storage.h */
	uint64_t arena_bytes[ARENA_MAX];
	uint64_t parameters, frozen; /* how many numbers are learnt; are frozen or state of layers */
	uint64_t batch_rows;         /* most rows of a launch: of a batch, or of a micro-batch */
	uint32_t lanes;              /* loss and metrics are summed for each lane; divided by `parts` */
	uint32_t parts;              /* micro-batches of a step (graph_parts()); 1: the batch is not cut */
	bool training;
	double reduced_rate; /* learning rate that replaces the configured one; 0: no replacement */
	char hash[GRAPH_HASH_BYTES],
		layers_hash[GRAPH_HASH_BYTES]; /* returned by model_graph_hash() and model_layers_hash() */
};

void graph_done(struct graph *graph);
/* Returns the micro-batches into which training cuts a batch: with ranks.exact order.lanes, else one for each
 * rank. */
uint32_t graph_parts(const struct config *config);
/* Removes the youngest tensors, so that `tensors` are left. */
void graph_cut(struct graph *graph, uint32_t tensors);

/* Adds a tensor and returns its index. Index and address of a tensor stay valid until it is removed. layout.h
 * sets its offset later. Ends the program when there is no memory, because the description of a model needs
 * only kilobytes. */
uint32_t graph_tensor(struct graph *graph, const struct tensor *tensor);
/* Gives a tensor the type and shape of `shape` if that takes more bytes; its name and role stay. Only before
 * layout.h sets its offset. */
void graph_enlarge(struct graph *graph, uint32_t tensor, const struct tensor *shape);

static inline const struct tensor *graph_at(const struct graph *graph, uint32_t tensor)
{
	return graph->tensor[tensor];
}

/* Returns the node that alone reads a tensor, once; NULL: none, or several. */
const struct node *graph_only_reader(const struct graph *graph, uint32_t tensor);

/* Sets *ret_mask to the mask that all inputs of a node have; GRAPH_NO_TENSOR where one has none. Errors:
 * -EINVAL two inputs have different masks; the text names them. */
MUST_CHECK int graph_common_mask(const struct graph *graph, const struct node *node, uint32_t *ret_mask,
				 struct error *err);

/* Returns the product of all dimensions of a row except the last dimension. */
uint64_t tensor_outer(const struct tensor *tensor);
/* Returns the last dimension: features, channels or classes. */
uint64_t tensor_last(const struct tensor *tensor);

/* Returns whether the rows of two tensors have the same dimensions. */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
/* Errors: -EINVAL the rows are no images [height, width, channels]; the text names the tensor. */
MUST_CHECK int tensor_check_image(const struct tensor *tensor, struct error *err);
/* The same for a row that must be a sequence [steps, channels]. */
MUST_CHECK int tensor_check_sequence(const struct tensor *tensor, struct error *err);

/* Returns the first offset after a tensor and its slack at which another tensor may begin. */
uint64_t tensor_end(const struct tensor *tensor);

/* Writes a shape as "[28, 28, 1]" for messages; returns `out`. */
#define SHAPE_TEXT_BYTES 176u
const char *shape_text(const struct tensor *tensor, char out[static SHAPE_TEXT_BYTES]);

uint32_t dtype_bytes(enum dtype dtype);
/* Returns the name of a type in safetensors: F32, F16, BF16, I64, U32, U8. */
const char *dtype_name(enum dtype dtype);
