/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of optimizers, with Keras's formulae and defaults. One launch updates the whole parameter region,
 * or a part of it; the padding between tensors has zero gradients and stays zero. With `lazy`, Adam updates
 * each embedding in a launch of its own, and only the rows that the batch names, like LazyAdam of TensorFlow
 * Addons.
 *
 * A step is a batch. With gradient_accumulation_steps N every Nth step is an update, and `t` counts updates.
 * The position within the N steps is the step modulo N, so a checkpoint holds it with the step. gradients.h
 * prepares the gradients before the optimizer reads them.
 *
 * Every update is elementwise: it changes a number of a parameter from this number, its gradient and its
 * slots alone. So a part of the parameter region can be updated without the rest.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;
struct plan_values;

struct optimizer {
	const char *name;
	double learning_rate, weight_decay, beta_2; /* defaults for a config without these keys; beta_2 0: not
						     * read */
	const char *slot[GRAPH_SLOTS_MAX]; /* names of the slots: tensors "optimizer/<slot>/<parameter>" */
	/* Returns the number of slots that the optimizer uses with this configuration. */
	uint32_t (*slots)(const struct config *config);
	/* Returns the number that the slots hold before the first update. NULL: 0. */
	double (*first)(const struct config *config);
	/* Appends the update of float16 [from, to) of the parameter region. With `lazy`: of all of them. */
	void (*emit)(struct plan *plan, uint64_t from, uint64_t to);
	/* Returns the factor of the learning rate at update t = 1, 2, ... NULL: the factor is always 1.
	 * Otherwise it is 1 / (1 - beta_1^t), with `corrects_root` times sqrt(1 - beta_2^t). */
	bool corrects_root;
	double (*correction)(const struct config *config, uint64_t t);
	/* Reference in float64: one update of n numbers at learning rate `rate`, without weight decay. */
	void (*reference)(const struct config *config, double rate, uint64_t t, uint64_t n,
			  const double *gradient, double *parameter, double *slot0, double *slot1);
};

/* Returns the optimizer of this name, or NULL. */
const struct optimizer *optimizer_find(const char *name);
const char *optimizer_names(void);
/* Notes keys of optimizer.* with a wrong value. unread.h notes keys of optimizer.* that have no effect. */
void optimizer_check(const struct config *config, struct mistakes *mistakes);
/* Notes parts of names in optimizer.exclude_from_weight_decay that are in the name of no parameter. */
void optimizer_check_parameters(const struct graph *graph, struct mistakes *mistakes);

/* Returns the learning rate that the configuration gives for step `step` = 0, 1, ... */
double optimizer_learning_rate(const struct config *config, const struct optimizer *optimizer, uint64_t step);
/* Returns the reduced learning rate if a callback has set one, else optimizer_learning_rate(). */
double optimizer_rate(const struct graph *graph, uint64_t step);

/* Appends the launches that update the parameters from the gradients. */
void optimizer_emit(struct plan *plan);
/* Returns whether parts of the parameters can be updated apart in a step. They cannot with what needs sums or
 * tables of all parameters: penalties, accumulation, clipping (gradients.h), the loss scale, `lazy`,
 * exclude_from_weight_decay and use_ema. */
bool optimizer_divides(const struct graph *graph);
/* Where optimizer_divides(): appends the launches that update float16 [from, to) of the parameter region. */
void optimizer_emit_part(struct plan *plan, uint64_t from, uint64_t to);
/* Appends the launch that replaces the parameters by their moving average at the end of training. Appends
 * nothing without optimizer.use_ema. */
void optimizer_emit_final(struct plan *plan);
/* Sets the values that the launches read in step `step` = 0, 1, ... */
void optimizer_values(const struct graph *graph, uint64_t step, struct plan_values *values);
/* Sets the values that the launch of optimizer_emit_final() reads. */
void optimizer_final_values(struct plan_values *values);
