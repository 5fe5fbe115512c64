/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of losses. A loss takes the place of the last node's forward pass where the two are one formula
 * (softmax + cross-entropy from logits, as Keras does it), leaves loss and hit of each row, and begins the
 * backward pass.
 */
#pragma once

#include "model/graph.h"

struct plan;

struct loss {
	const char *name;
	const char *output_op; /* the op the last layer must be */
	/* Append the launches from the last node's input: row loss and row hit; with `training` its gradient
	 * too. */
	void (*emit)(struct plan *plan, bool training);
	/* float64: z [rows, classes] logits, one-hot labels; fills loss and hit per row and, unless NULL, dz.
	 */
	void (*reference)(uint64_t rows, uint64_t classes, const double *z, const int64_t *label,
			  const uint8_t *empty, double *row_loss, double *row_correct, double *dz);
};

/* NULL: no such loss. */
const struct loss *loss_find(const char *name);
const char *loss_names(void);
