/* SPDX-License-Identifier: Apache-2.0 */
#include "data/text_regress.h"

#include "core/base/cleanup.h"

#include <math.h>
#include <stdlib.h>

#define SMOOTHING  1.0 /* Naive Bayes: added to every count */
#define COST       0.1 /* weight of the loss against the regularizer; best fold accuracy on IMDB */
#define PASSES     12  /* passes of coordinate descent; more change no fold accuracy in the third digit */
#define NEWTON_MAX 12  /* Newton steps per coordinate */

struct problem {
	const struct text_sets *texts;
	uint32_t fold, positive;
	float *ratio; /* per feature: log-count ratio */
	double *w;    /* per feature scaled by its ratio; the bias last */
};

/* Whether the text belongs to the folds that are fitted on. */
static bool is_in(const struct problem *problem, uint32_t row)
{
	return text_fold_of(row) != problem->fold;
}

static bool is_positive(const struct problem *problem, uint32_t row)
{
	return problem->texts->label[row] == problem->positive;
}

/* Naive Bayes: how much more often a feature occurs in texts of the positive class than in others. */
static bool make_ratios(struct problem *problem)
{
	const struct text_sets *texts = problem->texts;
	CLEANUP(free_ptr) uint32_t *count = calloc((size_t)texts->features * 2, sizeof(*count));
	double total[2] = { 0, 0 };

	if (!count)
		return false;
	for (uint32_t row = 0; row < texts->rows; row++)
		for (uint64_t i = 0; is_in(problem, row) && i < texts->count[row]; i++)
			count[(uint64_t)texts->index[row][i] * 2 + is_positive(problem, row)]++;
	for (uint32_t f = 0; f < texts->features; f++)
		for (int side = 0; side < 2; side++)
			total[side] += SMOOTHING + count[(uint64_t)f * 2 + (unsigned)side];
	for (uint32_t f = 0; f < texts->features; f++)
		problem->ratio[f] = (float)log((SMOOTHING + count[(uint64_t)f * 2 + 1]) / total[1] /
					       ((SMOOTHING + count[(uint64_t)f * 2]) / total[0]));
	return true;
}

static double score(const struct problem *problem, uint32_t row)
{
	const struct text_sets *texts = problem->texts;
	double sum = problem->w[texts->features];

	for (uint64_t i = 0; i < texts->count[row]; i++)
		sum += problem->w[texts->index[row][i]] * problem->ratio[texts->index[row][i]];
	return sum;
}

static double squared_norm(const struct problem *problem, uint32_t row)
{
	const struct text_sets *texts = problem->texts;
	double sum = 1;

	for (uint64_t i = 0; i < texts->count[row]; i++) {
		double ratio = problem->ratio[texts->index[row][i]];

		sum += ratio * ratio;
	}
	return sum;
}

static void add_row(struct problem *problem, uint32_t row, double amount)
{
	const struct text_sets *texts = problem->texts;

	problem->w[texts->features] += amount;
	for (uint64_t i = 0; i < texts->count[row]; i++)
		problem->w[texts->index[row][i]] += amount * problem->ratio[texts->index[row][i]];
}

/* Returns the z in (0, COST) that minimises
 *     z log z + (COST - z) log(COST - z) + a/2 (z - alpha)^2 + b (z - alpha).
 * The derivative rises from -inf to +inf, so Newton's method, held inside a shrinking interval, finds its
 * root (Yu, Huang, Lin, Machine Learning 85, 2011, section 4). */
static double best_alpha(double alpha, double a, double b)
{
	double low = 0, high = COST, z = alpha;

	for (int i = 0; i < NEWTON_MAX; i++) {
		double slope = log(z / (COST - z)) + a * (z - alpha) + b, step;

		if (slope > 0)
			high = z;
		else
			low = z;
		step = z - slope / (COST / (z * (COST - z)) + a);
		if (!(step > low && step < high))
			step = (low + high) / 2;
		if (fabs(step - z) < 1e-9 * COST)
			return step;
		z = step;
	}
	return z;
}

/* The i-th row to visit in a pass: a fixed order that does not depend on the texts. Rows are visited with a
 * step of about 0.618 of their number, the golden ratio, so that neighbouring texts are far apart in time. */
static uint32_t visit(uint32_t rows, uint32_t pass, uint32_t i)
{
	uint32_t step = (uint32_t)((double)rows * 0.6180339887) | 1u;

	while (step > 1 && rows % step == 0)
		step += 2;
	return (uint32_t)(((uint64_t)i * step + pass) % rows);
}

/* Dual coordinate descent for L2-regularized logistic regression. */
static bool regress(struct problem *problem)
{
	uint32_t rows = problem->texts->rows;
	CLEANUP(free_ptr) double *alpha = malloc(rows * sizeof(*alpha));
	CLEANUP(free_ptr) double *norm = malloc(rows * sizeof(*norm));

	if (!alpha || !norm)
		return false;
	for (uint32_t row = 0; row < rows; row++) {
		alpha[row] = COST * 0.01;
		norm[row] = squared_norm(problem, row);
		if (is_in(problem, row))
			add_row(problem, row, is_positive(problem, row) ? alpha[row] : -alpha[row]);
	}
	for (uint32_t pass = 0; pass < PASSES; pass++)
		for (uint32_t i = 0; i < rows; i++) {
			uint32_t row = visit(rows, pass, i);
			double sign = is_positive(problem, row) ? 1 : -1, next;

			if (!is_in(problem, row))
				continue;
			next = best_alpha(alpha[row], norm[row], sign * score(problem, row));
			add_row(problem, row, sign * (next - alpha[row]));
			alpha[row] = next;
		}
	return true;
}

bool text_regress(const struct text_sets *texts, uint32_t fold, uint32_t positive, float *ret_weight,
		  uint32_t stride, float *ret_bias)
{
	CLEANUP(free_ptr) float *ratio = malloc(texts->features * sizeof(*ratio));
	CLEANUP(free_ptr) double *w = calloc((size_t)texts->features + 1, sizeof(*w));
	struct problem problem = {
		.texts = texts, .fold = fold, .positive = positive, .ratio = ratio, .w = w
	};

	if (!ratio || !w || !make_ratios(&problem) || !regress(&problem))
		return false;
	for (uint32_t f = 0; f < texts->features; f++)
		ret_weight[(uint64_t)f * stride] = (float)w[f] * ratio[f];
	*ret_bias = (float)w[texts->features];
	return true;
}
