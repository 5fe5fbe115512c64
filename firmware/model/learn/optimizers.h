/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of optimizers: Keras's formulae and defaults. One launch updates the whole parameter region;
 * padding between tensors has zero gradients and stays zero. With `lazy` Adam leaves out embeddings and has a
 * launch for each, over the rows that the batch names, as TensorFlow Addons' LazyAdam.
 *
 * A step is a batch. With gradient_accumulation_steps N every Nth step is an update, and `t` counts those;
 * the micro-step is the step modulo N, so a checkpoint has it with the step. What is done to gradients
 * before they reach the optimizer: gradients.h.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;
struct plan_values;

struct optimizer {
	const char *name;
	double learning_rate, weight_decay; /* where the config gives none */
	const char *slot[GRAPH_SLOTS_MAX];  /* "optimizer/<slot>/<parameter>" */
	/* How many of them this configuration uses. */
	uint32_t (*slots)(const struct config *config);
	void (*emit)(struct plan *plan);
	/* What the learning rate is multiplied by at update t = 1, 2, ... NULL: 1. */
	double (*correction)(const struct config *config, uint64_t t);
	/* float64: one update of n numbers at a learning rate, less the weight decay. */
	void (*reference)(const struct config *config, double rate, uint64_t t, uint64_t n,
			  const double *gradient, double *parameter, double *slot0, double *slot1);
};

/* NULL: no such optimizer. */
const struct optimizer *optimizer_find(const char *name);
const char *optimizer_names(void);
/* Note what is wrong with the keys of optimizer.*; those that nothing reads: unread.h. */
void optimizer_check(const struct config *config, struct mistakes *mistakes);
/* The same of those that name parameters. */
void optimizer_check_parameters(const struct graph *graph, struct mistakes *mistakes);

/* The learning rate of the step behind `step` others. */
double optimizer_learning_rate(const struct config *config, const struct optimizer *optimizer, uint64_t step);
/* The same, or what it was reduced to. */
double optimizer_rate(const struct graph *graph, uint64_t step);

/* Gradients to parameters, all launches of it. */
void optimizer_emit(struct plan *plan);
/* The average takes the parameters' place: the end of training, with use_ema. */
void optimizer_emit_final(struct plan *plan);
/* What the launches of the step behind `step` others take. */
void optimizer_values(const struct graph *graph, uint64_t step, struct plan_values *values);
void optimizer_final_values(struct plan_values *values);
