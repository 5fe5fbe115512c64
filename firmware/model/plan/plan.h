/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: the launches of one pass (training step, evaluation or prediction), made once from the graph as an
 * array; a run enqueues the launches of the array in order. The sizes of the launches are computed from the
 * number of rows of the batch, so a partial batch needs no other plan. This folder chooses kernels and makes
 * the OpenCL program.
 *
 * Order: plan_init -> plan_emit* (by layers, loss, optimizer) -> plan_fuse -> layout_work -> chain_plan ->
 * kernels_build -> plan_bind -> plan_run* -> plan_done. Emitting ends the program when there is no memory,
 * because a plan needs only kilobytes.
 *
 * Why a fixed order of every sum: float addition depends on its order, and a run that repeats its steps after
 * a crash must get the same bits. So each sum has one order, which depends only on the shapes, the type of
 * the device and whether it has tensor cores, never on the number of threads or on which thread is first; and
 * no kernel adds floats atomically. A long sum is cut into chunks, by the shape alone; the chunks are summed,
 * then their sums. Each header or kernel says which order its sums have.
 *
 * Threads: one, the model's. A plan owns its launches and their kernel objects; it points to the graph. It
 * holds no state of training, so a crash loses nothing here.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"

#define PLAN_ARGUMENTS_MAX 24u

enum argument_kind {
	ARGUMENT_NULL, /* a null pointer */
	ARGUMENT_BUFFER,
	ARGUMENT_IN, /* IN to INOUT: a tensor */
	ARGUMENT_OUT,
	ARGUMENT_INOUT,
	ARGUMENT_INT, /* INT to FLOAT: a constant */
	ARGUMENT_UINT,
	ARGUMENT_FLOAT,
	ARGUMENT_ROWS, /* from ROWS on: a value of struct plan_values. ROWS is multiplied by `u`; 0 counts as
			  1 */
	ARGUMENT_VALID_ROWS,
	ARGUMENT_ROW_WEIGHT,
	ARGUMENT_FIRST_ROW,
	ARGUMENT_STEP,
	ARGUMENT_RATE,
	ARGUMENT_DECAY,
	ARGUMENT_UPDATE,
	ARGUMENT_AVERAGE_MOMENTUM,
	ARGUMENT_AVERAGE_REPLACES,
	ARGUMENT_PART,
};

struct argument {
	enum argument_kind kind;
	union {
		uint32_t tensor;
		int32_t i;
		uint32_t u;
		float f;
		const struct gpu_buffer *buffer;
	};
};

/* Work-groups in one dimension: ceil((fixed + rows * per_row) / tile) + extra. */
struct extent {
	uint64_t fixed, per_row, tile, extra;
};

struct launch {
	const char *kernel;
	bool on_update; /* true: not launched in steps that only accumulate gradients */
	struct extent groups[2];
	uint32_t arguments;
	struct argument argument[PLAN_ARGUMENTS_MAX];
	struct gpu_kernel *object;
	uint32_t phases;          /* > 0: a chain, which runs this number of following launches itself */
	struct gpu_buffer *owned; /* only for a chain: the description of its phases */
};

/* The arguments that change from step to step. */
struct plan_values {
	struct gpu_buffer *input[GRAPH_INPUTS_MAX]; /* in the order of graph->input */
	struct gpu_buffer *label, *weight, *empty;  /* `empty` NULL: no row is empty */
	int32_t rows, valid_rows;
	float row_weight; /* of a row in the gradients: 1 / valid rows, 0 without a valid row; in a step of
			     several micro-batches 1 / rows of the whole batch (parts.h) */
	uint32_t first_row, step;
	/* optimizer_values() sets these for the step: */
	float rate, decay; /* rate: learning rate * correction of the optimizer; decay: learning rate * weight
			      decay */
	int32_t update;    /* 1: this step changes the parameters; 0: it only accumulates gradients */
	float average_momentum;
	int32_t average_replaces;
	uint32_t part; /* the first lane of the micro-batch, 0 .. graph->lanes - 1 */
};

/* Tensor cores of a GPU, by the items that use them together. */
enum tensor_cores {
	TENSOR_CORES_NONE,
	TENSOR_CORES_WARPS, /* NVIDIA, compute capability 8.0 and later: kernels/mma.clh; of float32: TF32.
			       AMD, where it has matrix instructions: kernels/waves.clh */
	TENSOR_CORES_WARP_GROUPS, /* NVIDIA, 9.0: kernels/wgmma.clh */
};

struct plan {
	struct graph *graph;
	bool cpu;                       /* true: choose kernels for CPU devices, see gemm.h */
	enum tensor_cores tensor_cores; /* what products use: at most what kernels_tensor_cores() returns */
	uint32_t launches, capacity;
	struct launch *launch;
	uint32_t *alias; /* for each tensor: the tensor to read in its place, if an op does nothing in this
			    pass */
	bool *gradient_written;  /* for each tensor: whether a launch has written this gradient */
	uint32_t tables;         /* number of entries of `alias` and of `gradient_written` */
	struct plan_values last; /* the values to which the arguments of the kernels are set */
	bool bound;
};

void plan_init(struct plan *plan, struct graph *graph, bool cpu);
void plan_done(struct plan *plan);

static inline bool argument_is_tensor(const struct argument *argument)
{
	return argument->kind >= ARGUMENT_IN && argument->kind <= ARGUMENT_INOUT;
}

/* Returns the argument for a tensor; for GRAPH_NO_TENSOR a null pointer. */
static inline struct argument argument_optional(uint32_t tensor, enum argument_kind kind)
{
	if (tensor == GRAPH_NO_TENSOR)
		return (struct argument){ .kind = ARGUMENT_NULL };
	return (struct argument){ .kind = kind, .tensor = tensor };
}

/* Appends a launch. A tensor that it reads is replaced by its alias. */
void plan_emit(struct plan *plan, const struct launch *launch);
/* Makes `source` the alias of `tensor`: launches appended later read `source`. */
void plan_alias(struct plan *plan, uint32_t tensor, uint32_t source);
/* Returns the gradient tensor of an activation, for a launch that stores into it. The first launch of a pass
 * that stores into it overwrites it; later launches must add (*ret_add). GRAPH_NO_TENSOR: nobody needs the
 * gradient. */
uint32_t plan_gradient(struct plan *plan, uint32_t tensor, bool *ret_add);

/* Returns scratch of a node, "<node>/<name>", of the dtype, rank, shape and rows of `shape`. Every call in
 * every pass with the same node and name returns the same tensor, so a forward pass can store in it what the
 * backward pass needs. Its size is the largest of these calls: a node may have several products, which use
 * the same scratch one after the other. */
uint32_t plan_work(struct plan *plan, const struct node *node, const char *name, const struct tensor *shape);
/* Returns the tensor that launches appended now would read instead of `tensor`: its alias, or `tensor`
 * itself. */
uint32_t plan_source(const struct plan *plan, uint32_t tensor);

/* Returns the number of launches that a run enqueues; a chain counts as one. */
uint32_t plan_enqueued(const struct plan *plan);

/* Makes the kernel objects and sets the arguments that never change. `buffer` has the buffer of each tensor;
 * NULL for the tensors of a batch. */
MUST_CHECK int plan_bind(struct plan *plan, struct gpu_program *program, struct gpu_buffer *const *buffer,
			 struct error *err);
MUST_CHECK int plan_run(struct plan *plan, struct gpu *gpu, const struct plan_values *values,
			struct error *err);
/* Enqueues a part of a run: from launch *at on those before launch `end`, and the rest of the chain that the
 * last of them is in. Sets *at to the launch that is next. A run begins with *at = 0 and ends with *at =
 * plan->launches; all its calls have the same values. */
MUST_CHECK int plan_run_to(struct plan *plan, struct gpu *gpu, const struct plan_values *values, uint32_t end,
			   uint32_t *at, struct error *err);
/* Returns 1 + the last launch with a tensor that has bytes in [from, to) of an arena; 0: there is none. */
uint32_t plan_uses_end(const struct plan *plan, enum arena arena, uint64_t from, uint64_t to);

#define IN(t)                                      \
	{                                          \
		.kind = ARGUMENT_IN, .tensor = (t) \
	}
#define OUT(t)                                      \
	{                                           \
		.kind = ARGUMENT_OUT, .tensor = (t) \
	}
#define INOUT(t)                                      \
	{                                             \
		.kind = ARGUMENT_INOUT, .tensor = (t) \
	}
#define INT(v)                                          \
	{                                               \
		.kind = ARGUMENT_INT, .i = (int32_t)(v) \
	}
#define UINT(v)                                 \
	{                                       \
		.kind = ARGUMENT_UINT, .u = (v) \
	}
#define FLOAT(v)                                        \
	{                                               \
		.kind = ARGUMENT_FLOAT, .f = (float)(v) \
	}
#define AT(what)                        \
	{                               \
		.kind = ARGUMENT_##what \
	}

/* An argument: the rows of the batch times a constant, for example the rows of the last dimension. */
#define ROWS_TIMES(n)                                     \
	{                                                 \
		.kind = ARGUMENT_ROWS, .u = (uint32_t)(n) \
	}

/* Sets the arguments of a launch and their number. Write them in the order of the kernel's parameters, or as
 * [index] = ... */
#define ARGUMENTS(...)               \
	.argument = { __VA_ARGS__ }, \
	.arguments = (uint32_t)(sizeof((struct argument[]){ __VA_ARGS__ }) / sizeof(struct argument))

/* Work-items in a group, for kernels with one item per element of [rows, columns]. */
#define ELEMENT_GROUP 64u
/* Work-items in a group, for kernels with one item per row. */
#define ROW_GROUP 16u
