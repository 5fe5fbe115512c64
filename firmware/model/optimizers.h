/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of optimizers: Keras's formulae and defaults. One launch updates the whole parameter region;
 * padding between tensors has zero gradients and stays zero.
 */
#pragma once

#include "model/graph.h"

struct plan;

struct optimizer {
	const char *name;
	const char *slot[GRAPH_SLOTS_MAX]; /* "optimizer/<slot>/<parameter>" */
	/* How many of them this configuration uses. */
	uint32_t (*slots)(const struct config *config);
	void (*emit)(struct plan *plan);
	/* The factor of the update at step t = 1, 2, ...: the learning rate with the step's bias correction.
	 */
	double (*rate)(const struct config *config, uint64_t t);
	/* float64: one update of n numbers. */
	void (*reference)(const struct config *config, uint64_t t, uint64_t n, const double *gradient,
			  double *parameter, double *slot0, double *slot1);
};

/* NULL: no such optimizer. */
const struct optimizer *optimizer_find(const char *name);
const char *optimizer_names(void);
