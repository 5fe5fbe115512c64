/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paired tests: whether one model is better than another on the same records, or only by chance. Pure,
 * without state; the same figures give the same result on every machine.
 *
 * McNemar's test for accuracy: only the records count that one model gets right and the other wrong. If both
 * models are equally good, each such record is won by either with probability 1/2, so p is the exact
 * two-sided binomial probability, for any number of records. The interval is Wald's of a difference of paired
 * shares: gain +- 1.96 sqrt(b + c - (b - c)^2 / n) / n.
 *
 * The paired bootstrap for losses (Efron, Tibshirani 1993): the mean of the records' gains, drawn again and
 * again with replacement. The interval is that of the percentiles 2.5 and 97.5, p the two-sided share of
 * means beyond 0. The draws are those of Philox (model/graph/random.h) with a fixed seed.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define PAIRED_LEVEL        0.05 /* a gain holds where p is below this: 95 % */
#define PAIRED_SEED         20u
#define PAIRED_DRAWS        UINT64_C(200000000) /* draws of one bootstrap, about 2 s */
#define PAIRED_RESAMPLES    10000u /* most resamples; many rows have fewer, because of PAIRED_DRAWS */
#define PAIRED_RESAMPLE_MIN 1000u

struct paired {
	const char *method; /* "mcnemar" or "bootstrap" */
	uint64_t rows;
	double gain; /* mean over the rows: above 0 = the new model is better */
	double low, high, p;
	uint64_t won, lost;       /* rows that one model alone gets right; 0 for a bootstrap */
	uint64_t seed, resamples; /* 0 for McNemar's test */
};

/* `won`: rows that the new model alone gets right; `lost`: those that the other one alone gets right; of
 * `rows` > 0. */
struct paired paired_mcnemar(uint64_t rows, uint64_t won, uint64_t lost);

/* `gain`: the gain of each row, finite, above 0 where the new model is better; `rows` of them, 1 .. 2^32.
 * Errors: -ENOMEM. */
MUST_CHECK int paired_bootstrap(const double *gain, uint64_t rows, uint64_t seed, struct paired *ret_paired,
				struct error *err);

/* Returns whether the new model is better, and not by chance. */
bool paired_holds(const struct paired *paired);
