/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/paired.h"

#include "model/graph/random.h"

#include <math.h>

#define DEVIATIONS 1.959963984540054 /* the 97.5 % quantile of the normal distribution */

/* Returns the probability of at most `few` heads in `tosses` tosses of a coin. The terms fall from few down,
 * each by the ratio k / (tosses - k + 1), until they no longer count. */
static double at_most(uint64_t few, uint64_t tosses)
{
	const double n = (double)tosses;
	double term = exp(lgamma(n + 1) - lgamma((double)few + 1) - lgamma(n - (double)few + 1) - n * M_LN2);
	double sum = term;

	for (uint64_t k = few; k > 0 && term > sum * 1e-17; k--) {
		term *= (double)k / (n - (double)k + 1);
		sum += term;
	}
	return sum;
}

struct paired paired_mcnemar(uint64_t rows, uint64_t won, uint64_t lost)
{
	const double n = (double)rows, both = (double)won + (double)lost,
		     difference = (double)won - (double)lost;
	const double gain = difference / n,
		     wide = DEVIATIONS * sqrt(fmax(0, both - difference * difference / n)) / n;

	return (struct paired){ .method = "mcnemar",
				.rows = rows,
				.gain = gain,
				.low = gain - wide,
				.high = gain + wide,
				.p = won == lost ? 1
						 : fmin(1, 2 * at_most(won < lost ? won : lost, won + lost)),
				.won = won,
				.lost = lost };
}

/* ---- The bootstrap ---- */

static double drawn_mean(const double *gain, uint64_t rows, uint32_t resample, uint64_t seed)
{
	double sum = 0;

	for (uint64_t i = 0; i < rows; i += 4) {
		const uint32_t counter[4] = { (uint32_t)(i / 4), resample, 0, 0 };
		const struct philox draw = philox(counter, seed);

		for (uint64_t k = 0; k < 4 && i + k < rows; k++)
			sum += gain[(draw.word[k] * rows) >> 32];
	}
	return sum / (double)rows;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns a quantile of sorted numbers, between the two that are nearest. */
static double quantile(const double *sorted, uint64_t count, double share)
{
	const double at = share * (double)(count - 1);
	const uint64_t below = (uint64_t)at;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Returns the two-sided share of means that are not on the other side of 0. */
static double beyond_zero(const double *sorted, uint64_t count)
{
	uint64_t down = 0, up = 0;

	for (uint64_t i = 0; i < count; i++) {
		down += sorted[i] <= 0;
		up += sorted[i] >= 0;
	}
	return fmin(1, 2 * ((double)(down < up ? down : up) + 1) / ((double)count + 1));
}

static uint64_t resamples_of(uint64_t rows)
{
	const uint64_t may = PAIRED_DRAWS / rows;

	if (may > PAIRED_RESAMPLES)
		return PAIRED_RESAMPLES;
	return may < PAIRED_RESAMPLE_MIN ? PAIRED_RESAMPLE_MIN : may;
}

int paired_bootstrap(const double *gain, uint64_t rows, uint64_t seed, struct paired *ret_paired,
		     struct error *err)
{
	const uint64_t resamples = resamples_of(rows);
	CLEANUP(free_ptr) double *mean = malloc(resamples * sizeof(*mean));
	double sum = 0;

	if (!mean)
		return error_set(err, -ENOMEM, "no memory for a paired test");
	for (uint64_t i = 0; i < rows; i++)
		sum += gain[i];
	for (uint64_t i = 0; i < resamples; i++)
		mean[i] = drawn_mean(gain, rows, (uint32_t)i, seed);
	qsort(mean, resamples, sizeof(*mean), compare);
	*ret_paired = (struct paired){ .method = "bootstrap",
				       .rows = rows,
				       .gain = sum / (double)rows,
				       .low = quantile(mean, resamples, 0.025),
				       .high = quantile(mean, resamples, 0.975),
				       .p = beyond_zero(mean, resamples),
				       .seed = seed,
				       .resamples = resamples };
	return 0;
}

bool paired_holds(const struct paired *paired)
{
	return paired->gain > 0 && paired->p < PAIRED_LEVEL;
}
