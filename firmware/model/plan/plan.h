/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: the launches of one pass (training step, evaluation, prediction), compiled once from the graph;
 * running it walks the array. Sizes follow from the batch's rows, so a partial batch needs no other plan.
 *
 * Order: plan_init -> plan_emit* (by ops, loss, optimizer) -> plan_fuse -> graph_layout -> chain_plan ->
 * plan_bind
 * -> plan_run* -> plan_done. Emitting ends the program when memory is out: a plan is kilobytes.
 */
#pragma once

#include "drivers/gpu/gpu.h"
#include "model/graph/graph.h"

#define PLAN_ARGUMENTS_MAX 24u

enum argument_kind {
	ARGUMENT_NULL, /* a null pointer */
	ARGUMENT_BUFFER,
	ARGUMENT_IN, /* tensors */
	ARGUMENT_OUT,
	ARGUMENT_INOUT,
	ARGUMENT_INT, /* constants */
	ARGUMENT_UINT,
	ARGUMENT_FLOAT,
	ARGUMENT_ROWS, /* known at each step, see struct plan_values; times `u`, 0 is once */
	ARGUMENT_VALID_ROWS,
	ARGUMENT_ROW_WEIGHT,
	ARGUMENT_FIRST_ROW,
	ARGUMENT_STEP,
	ARGUMENT_RATE,
	ARGUMENT_DECAY,
	ARGUMENT_UPDATE,
	ARGUMENT_AVERAGE_MOMENTUM,
	ARGUMENT_AVERAGE_REPLACES,
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

/* Work-groups in one dimension: ceil((constant + rows * per_row) / tile) + extra. */
struct extent {
	uint64_t constant, per_row, tile, extra;
};

struct launch {
	const char *kernel;
	bool on_update; /* left out of steps that only accumulate gradients */
	struct extent groups[2];
	uint32_t arguments;
	struct argument argument[PLAN_ARGUMENTS_MAX];
	struct gpu_kernel *object;
	uint32_t phases;          /* so many launches behind it that it makes: chain.h */
	struct gpu_buffer *owned; /* what it reads of them */
};

/* What changes from step to step. */
struct plan_values {
	struct gpu_buffer *input[GRAPH_INPUTS_MAX]; /* as in graph->input */
	struct gpu_buffer *label, *weight, *empty;  /* empty NULL: every row counts */
	int32_t rows, valid_rows;
	float row_weight; /* 1 / valid rows, 0 without any */
	uint32_t first_row, step;
	/* optimizer_values() of this step: */
	float rate, decay; /* learning rate with its correction; learning rate * weight decay */
	int32_t update;    /* parameters change */
	float average_momentum;
	int32_t average_replaces;
};

struct plan {
	struct graph *graph;
	bool cpu; /* which kernels: see gemm.h */
	uint32_t launches, room;
	struct launch *launch;
	uint32_t *alias;         /* by tensor: an op that is the identity in this pass */
	bool *gradient_written;  /* by tensor */
	uint32_t tables;         /* entries in both */
	struct plan_values last; /* what the kernels' arguments hold */
	bool bound;
};

void plan_init(struct plan *plan, struct graph *graph, bool cpu);
void plan_done(struct plan *plan);

static inline bool argument_is_tensor(const struct argument *argument)
{
	return argument->kind >= ARGUMENT_IN && argument->kind <= ARGUMENT_INOUT;
}

/* The argument for a tensor that may be GRAPH_NO_TENSOR, a null pointer for the kernel. */
static inline struct argument argument_optional(uint32_t tensor, enum argument_kind kind)
{
	if (tensor == GRAPH_NO_TENSOR)
		return (struct argument){ .kind = ARGUMENT_NULL };
	return (struct argument){ .kind = kind, .tensor = tensor };
}

/* Append a launch; tensors are replaced by their aliases. */
void plan_emit(struct plan *plan, const struct launch *launch);
/* From here on, reading `tensor` means reading `source`. */
void plan_alias(struct plan *plan, uint32_t tensor, uint32_t source);
/* The gradient tensor of an activation for storing into: the first store writes, later ones add (*ret_add).
 * GRAPH_NO_TENSOR: nobody needs it. */
uint32_t plan_gradient(struct plan *plan, uint32_t tensor, bool *ret_add);

/* Scratch of a node, "<node>/<name>", of shape->dtype, rank, shape and rows. The same tensor in every pass
 * and at every call: a forward pass may leave there what backward needs. */
uint32_t plan_work(struct plan *plan, const struct node *node, const char *name, const struct tensor *shape);
/* What reading `tensor` means at the end of the pass. */
uint32_t plan_source(const struct plan *plan, uint32_t tensor);

/* How many launches a run enqueues: those in a chain are one. */
uint32_t plan_enqueued(const struct plan *plan);

/* Make the kernels. `buffer` is by tensor; those of the batch's arena are NULL. */
MUST_CHECK int plan_bind(struct plan *plan, struct gpu_program *program, struct gpu_buffer *const *buffer,
			 struct error *err);
MUST_CHECK int plan_run(struct plan *plan, struct gpu *gpu, const struct plan_values *values,
			struct error *err);

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

/* Rows of the batch times a constant: rows of the last dimension. */
#define ROWS_TIMES(n)                                     \
	{                                                 \
		.kind = ARGUMENT_ROWS, .u = (uint32_t)(n) \
	}

/* Of a launch: its arguments, in the order of the kernel's parameters or by [index], and how many they are.
 */
#define ARGUMENTS(...)               \
	.argument = { __VA_ARGS__ }, \
	.arguments = (uint32_t)(sizeof((struct argument[]){ __VA_ARGS__ }) / sizeof(struct argument))

/* One work-item an element of [rows, columns], in groups of ELEMENT_GROUP. */
#define ELEMENT_GROUP 64u
/* One work-item a row, in groups of ROW_GROUP. */
#define ROW_GROUP 16u
