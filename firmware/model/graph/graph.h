/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a model is, before any device: tensors and nodes, built and checked from the config.
 *
 * A node names its inputs, earlier nodes or features of the batch, so a residual is an ordinary two-input
 * node. Activations are [rows, shape...], images NHWC. Every float tensor lies in one of three arenas;
 * offsets are fixed here, so that the state arena is one copy and the parameters of one optimizer launch lie
 * together: parameters to learn | slot 0 of each | slot 1 of each | frozen parameters | layers' state |
 * metric sums, loss scale, step, cursor | faults. Slots and gradients mirror the layout of the parameters to
 * learn.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stddef.h>

#define GRAPH_NAME_BYTES     192u
#define GRAPH_LAYER_NAME_MAX 96u
#define GRAPH_ATTRIBUTES_MAX CONFIG_ATTRIBUTES_MAX
#define GRAPH_PARAMETERS_MAX 4u
#define GRAPH_INPUTS_MAX     16u /* of the batch; a ragged feature is two */
#define GRAPH_SLOTS_MAX      2u
#define GRAPH_HASH_BYTES     65u
#define GRAPH_NO_TENSOR      UINT32_MAX

/* Offsets are multiples of this: what sub-buffers need on every device known. */
#define TENSOR_ALIGN 512u
/* Readable bytes behind every tensor: the widest GEMM tile of 64 floats may read, not use, past the last row.
 */
#define TENSOR_SLACK 256u

/* Elements of the parameter region that share one fault entry. */
#define FAULT_CHUNK 4096u
/* Numbers of what metrics.cl and embedding.cl report. */
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
	ROLE_STATE, /* what a layer keeps and does not learn: moving averages, statistics of the data */
	ROLE_SLOT,
	ROLE_STAT,    /* metric sums */
	ROLE_SCALE,   /* the loss scale and what it counts: loss_scale.h */
	ROLE_COUNTER, /* step and cursor: mirrored on the host, written before a snapshot */
	ROLE_WORK,    /* regions and scratch: never in a checkpoint */
	ROLE_MAX,
};

enum arena { ARENA_BATCH, ARENA_STATE, ARENA_GRADIENT, ARENA_WORK, ARENA_MAX };

struct tensor {
	char name[GRAPH_NAME_BYTES];
	enum dtype dtype;
	enum role role;
	enum arena arena;
	bool rows;      /* the first dimension is the batch's rows; shape[] holds the others */
	bool lazy;      /* a parameter of which a step changes only the rows that its batch names */
	bool trainable; /* a parameter to learn, or an activation made with one: it has a gradient */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	uint64_t elements; /* product of shape[]: of one row where `rows` */
	uint64_t offset, bytes;
	uint32_t gradient;                    /* tensor, or GRAPH_NO_TENSOR */
	const char *initializer;              /* parameters and state only */
	const struct config_feature *feature; /* of the batch's inputs */
	uint32_t splits; /* of the values of a ragged input: the tensor of its row splits [rows + 1]; 0 makes
			  * GRAPH_NO_TENSOR */
	double l1, l2;   /* parameters only: penalties */
	void *constant;  /* malloc'ed, the graph's: what it holds from the start; NULL = nothing */
};

struct attribute {
	int64_t i;
	double f;
	bool b;
	const char *s;
	uint32_t items; /* of a list; a single integer is a list of one */
	int64_t item[CONFIG_SHAPE_MAX];
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
	bool trainable;                                   /* false: its parameters are frozen */
	const char *activation; /* the op that its `activation` names, NULL: none; it is the next node, and
				 * who reads this layer reads that one */
	bool is_activation;     /* it is such a next node */
};

/* See gradients.h; tensors, but for the first line. */
struct gradients {
	bool prepared, penalized;
	uint64_t chunks, tensors;
	uint32_t chunk, span, penalty_of;
	uint32_t decays; /* 0 = excluded from weight decay, 1 */
	uint32_t chunk_penalty, chunk_square, scale, penalty;
};

/* See loss_scale.h; tensors, GRAPH_NO_TENSOR where nothing is scaled. */
struct loss_scale {
	uint32_t scale, steps; /* of the state */
	uint32_t bad, verdict;
};

struct graph {
	const struct config *config;
	const struct loss *loss;
	const struct optimizer *optimizer;
	uint32_t tensors, tensors_room, nodes;
	struct tensor *tensor;
	struct node *node;
	uint32_t inputs,
		input[GRAPH_INPUTS_MAX]; /* of the batch; config.model.input, if one of them, is the first */
	uint32_t label, empty, output;
	uint32_t weight; /* what rows count, of the batch; or GRAPH_NO_TENSOR */
	uint32_t fault;  /* see kernels/metrics.cl and embedding.cl */
	/* Training only, GRAPH_NO_TENSOR otherwise: */
	uint32_t row_loss, row_correct; /* what the loss kernel leaves */
	uint32_t class_weights;         /* or GRAPH_NO_TENSOR */
	uint32_t top_sum;               /* or GRAPH_NO_TENSOR */
	uint32_t loss_sum, correct_sum, rows_sum, step, cursor;
	uint32_t chunk_fault; /* see kernels/metrics.cl */
	uint32_t parameter_region, gradient_region, slot_region[GRAPH_SLOTS_MAX];
	uint32_t accumulator_region, average_region; /* or GRAPH_NO_TENSOR */
	struct gradients gradients;
	struct loss_scale loss_scale;
	enum dtype storage; /* of activations, their gradients, copies of weights: storage.h */
	uint64_t arena_bytes[ARENA_MAX];
	uint64_t parameters, frozen; /* numbers to learn; numbers that stay, and layers' state */
	uint64_t batch_rows;
	bool training;
	double reduced_rate; /* the learning rate in place of the configuration's; 0 = none */
	char hash[GRAPH_HASH_BYTES],
		layers_hash[GRAPH_HASH_BYTES]; /* model_graph_hash(), model_layers_hash() */
};

void graph_done(struct graph *graph);

/* Add a tensor; bytes and offset come with graph_build()'s layout. Ends the program when memory is out: a
 * model's description is kilobytes. The index stays valid, pointers into graph->tensor do not. */
uint32_t graph_tensor(struct graph *graph, const struct tensor *tensor);

static inline const struct tensor *graph_at(const struct graph *graph, uint32_t tensor)
{
	return &graph->tensor[tensor];
}

/* Product of the dimensions of a row but for the last: rows * outer rows of the last dimension. */
uint64_t tensor_outer(const struct tensor *tensor);
/* The last dimension: features, channels, classes. */
uint64_t tensor_last(const struct tensor *tensor);

/* The first offset behind a tensor, with its slack, where another may begin in its arena. */
uint64_t tensor_end(const struct tensor *tensor);

/* "[28, 28, 1]" for messages; returns `out`. */
#define SHAPE_TEXT_BYTES 176u
const char *shape_text(const struct tensor *tensor, char out[static SHAPE_TEXT_BYTES]);

uint32_t dtype_bytes(enum dtype dtype);
/* The name safetensors uses: F32, F16, BF16, I64, U32, U8. */
const char *dtype_name(enum dtype dtype);
