/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the recurrent layers lstm, gru and simple_rnn: attributes, parameters and launches, which are the
 * same but for the cell, the formulas of one time step. The input is [time, features]; the output [units], or
 * [time, units] with return_sequences. The state begins as zeros in every row of every batch, so nothing of
 * it lives longer than a step.
 *
 * Launches: the forward pass is one product x W for all time steps and one launch for the recurrence; the
 * backward pass is one launch for the recurrence and one product for each gradient, which sums over all rows
 * and steps. Why one launch for all time steps: rows do not need each other, so a work-group takes some rows
 * through all steps while U stays in a cache, and there is no launch, and no wait of all cores for the
 * slowest, in each step. A training step of lstm(128) on 64 rows of 100 x 64, with its dense layer and Adam,
 * is 11 launches and takes 110 ms of CPU time on a busy AMD EPYC with AVX2, where Keras 3.15 takes 159 ms and
 * PyTorch 2.8 on one thread 136 ms (2026-11-29); the recurrence is about 40 % of it. Bits: every sum has one
 * order (kernels/recurrent.cl), and the numbers of a row depend on this row alone. A batch has rows /
 * RECURRENT_ROWS groups, so more cores than that do not help.
 *
 * A step that the mask of the input leaves out keeps the state, and its output is that of the step before,
 * zeros before the first, as in Keras. Its product x W is computed, and has no gradient.
 *
 * Random numbers: with `dropout` a mask of the features drops a feature in all time steps of a row, as
 * spatial_dropout2d drops a channel (graph/random.h).
 *
 * gru is that of Keras's default, reset_after = true.
 */
#pragma once

#include "model/graph/op.h"

enum recurrent_attribute {
	RECURRENT_UNITS,
	RECURRENT_ACTIVATION,
	RECURRENT_USE_BIAS,
	RECURRENT_KERNEL_INITIALIZER,
	RECURRENT_RECURRENT_INITIALIZER,
	RECURRENT_BIAS_INITIALIZER,
	RECURRENT_RETURN_SEQUENCES,
	RECURRENT_GO_BACKWARDS,
	RECURRENT_IN_ORDER,
	RECURRENT_DROPOUT,
	RECURRENT_GATE_ACTIVATION, /* lstm and gru */
	RECURRENT_FORGET_BIAS,     /* lstm */
};

enum recurrent_parameter {
	RECURRENT_KERNEL,
	RECURRENT_RECURRENT_KERNEL,
	RECURRENT_BIAS, /* gru: [2, gates * units], of x W and of h U */
	RECURRENT_PARAMETERS_MAX,
};

/* Sizes of a layer, the functions of its gates (numbers of kernels/recurrent_flags.h), and how it goes
 * through time. */
struct recurrent_sizes {
	uint64_t time, features, units;
	uint64_t gates; /* 4 lstm, 3 gru, 1 simple_rnn */
	int activation, gate_activation;
	bool sequences, backwards, in_order;
	double dropout;
};

/* Names of the functions of gates, in the order of kernels/recurrent_flags.h, NULL-terminated. */
extern const char *const recurrent_functions[];

struct recurrent_sizes recurrent_sizes_of(const struct graph *graph, const struct node *node);
/* Functions of the rows of the table. */
void recurrent_reference(const struct op_reference *reference);
void recurrent_export(struct export *out, const struct node *node);
