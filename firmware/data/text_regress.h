/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regression of text_fit(): the weights that tell one class from all others, fitted on all folds but one.
 * Pure functions; the same bits on any thread. For data/text_fit.c only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TEXT_FOLDS 5u

/* The fold of a text. */
static inline uint32_t text_fold_of(uint32_t row)
{
	return row % TEXT_FOLDS;
}

/* Texts as sets of features. */
struct text_sets {
	uint32_t rows, features;
	const uint32_t *label;  /* per text: the class */
	uint32_t *const *index; /* per text: the indices of the features */
	const uint64_t *count;  /* per text: the number of features */
};

/* Fits on all texts outside `fold`; TEXT_FOLDS leaves no text out. Class `positive` is one side, all other
 * classes are the other side. Feature f's weight goes to ret_weight[f * stride]. False: no memory. */
bool text_regress(const struct text_sets *texts, uint32_t fold, uint32_t positive, float *ret_weight,
		  uint32_t stride, float *ret_bias);
