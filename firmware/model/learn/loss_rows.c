/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/loss_rows.h"

#include <math.h>
#include <stddef.h>

#define EPSILON 1e-7 /* keras.backend.epsilon() */

/* ---- Cross-entropies of logits ---- */

/* Returns log(sum of exp(z)). */
static double log_sum(uint64_t classes, const double *z)
{
	double most = z[0], sum = 0;

	for (uint64_t c = 1; c < classes; c++)
		most = z[c] > most ? z[c] : most;
	for (uint64_t c = 0; c < classes; c++)
		sum += exp(z[c] - most);
	return log(sum) + most;
}

/* Returns number c of a label of `classes` numbers that is smoothed. */
static double smoothed(const struct loss_settings *settings, double label, uint64_t classes)
{
	return label * (1 - settings->smoothing) + settings->smoothing / (double)classes;
}

double loss_softmax_row(uint64_t classes, const double *z, const double *label,
			const struct loss_settings *settings, double *dz)
{
	const double of_all = log_sum(classes, z);
	double labels = 0, loss = 0;

	for (uint64_t c = 0; c < classes; c++) {
		const double y = smoothed(settings, label[c], classes);

		labels += y;
		loss += y * (of_all - z[c]);
	}
	for (uint64_t c = 0; dz && c < classes; c++)
		dz[c] = exp(z[c] - of_all) * labels - smoothed(settings, label[c], classes);
	return loss;
}

double loss_sparse_row(uint64_t classes, const double *z, const double *label,
		       const struct loss_settings *settings, double *dz)
{
	const double of_all = log_sum(classes, z);

	(void)settings;
	for (uint64_t c = 0; dz && c < classes; c++)
		dz[c] = exp(z[c] - of_all) - ((double)c == *label);
	return of_all - z[(uint64_t)*label];
}

double loss_sigmoid_row(uint64_t units, const double *z, const double *label,
			const struct loss_settings *settings, double *dz)
{
	double loss = 0;

	for (uint64_t u = 0; u < units; u++) {
		const double y = smoothed(settings, label[u], 2);

		loss += fmax(z[u], 0) - z[u] * y + log1p(exp(-fabs(z[u])));
		if (dz)
			dz[u] = (1 / (1 + exp(-z[u])) - y) / (double)units;
	}
	return loss / (double)units;
}

/* ---- Focal cross-entropies of logits ---- */

double loss_softmax_focal_row(uint64_t classes, const double *z, const double *label,
			      const struct loss_settings *settings, double *dz)
{
	const double of_all = log_sum(classes, z), gamma = settings->shape;
	double loss = 0, sum = 0; /* sum: of what each class adds to dz */

	for (uint64_t c = 0; c < classes; c++) {
		const double y = smoothed(settings, label[c], classes) * settings->ones;
		const double log_p = z[c] - of_all, p = exp(log_p), rest = fmax(1 - p, EPSILON);

		loss -= y * pow(rest, gamma) * log_p;
		sum += y * (gamma * pow(rest, gamma - 1) * p * log_p - pow(rest, gamma));
	}
	for (uint64_t c = 0; dz && c < classes; c++) {
		const double y = smoothed(settings, label[c], classes) * settings->ones;
		const double log_p = z[c] - of_all, p = exp(log_p), rest = fmax(1 - p, EPSILON);

		dz[c] = y * (gamma * pow(rest, gamma - 1) * p * log_p - pow(rest, gamma)) - p * sum;
	}
	return loss;
}

double loss_sigmoid_focal_row(uint64_t units, const double *z, const double *label,
			      const struct loss_settings *settings, double *dz)
{
	const double gamma = settings->shape;
	double loss = 0;

	for (uint64_t u = 0; u < units; u++) {
		const double y = smoothed(settings, label[u], 2);
		const double p = 1 / (1 + exp(-z[u])), q = 1 / (1 + exp(z[u]));
		const double entropy = fmax(z[u], 0) - z[u] * y + log1p(exp(-fabs(z[u])));
		const double weight = y * settings->ones + (1 - y) * settings->zeros;
		const double far = fmax(y * q + (1 - y) * p, EPSILON);

		loss += weight * pow(far, gamma) * entropy;
		if (dz)
			dz[u] = weight *
				(pow(far, gamma) * (p - y) +
				 gamma * pow(far, gamma - 1) * (1 - 2 * y) * p * q * entropy) /
				(double)units;
	}
	return loss / (double)units;
}

/* ---- Means over the outputs ---- */

/* The loss of an output, and its derivative. */
struct element {
	double loss, slope;
};

static double mean_row(struct element (*of)(double z, double y, double shape), uint64_t outputs,
		       const double *z, const double *label, const struct loss_settings *settings, double *dz)
{
	double loss = 0;

	for (uint64_t i = 0; i < outputs; i++) {
		const struct element element = of(z[i], label[i], settings->shape);

		loss += element.loss / (double)outputs;
		if (dz)
			dz[i] = element.slope / (double)outputs;
	}
	return loss;
}

#define MEAN_ROW(name)                                                                   \
	double loss_##name##_row(uint64_t outputs, const double *z, const double *label, \
				 const struct loss_settings *settings, double *dz)       \
	{                                                                                \
		return mean_row(name, outputs, z, label, settings, dz);                  \
	}

static double sign(double x)
{
	return (x > 0) - (x < 0);
}

static struct element squared(double z, double y, double shape)
{
	(void)shape;
	return (struct element){ (z - y) * (z - y), 2 * (z - y) };
}
MEAN_ROW(squared)

static struct element absolute(double z, double y, double shape)
{
	(void)shape;
	return (struct element){ fabs(z - y), sign(z - y) };
}
MEAN_ROW(absolute)

static struct element huber(double z, double y, double delta)
{
	const double d = z - y;

	if (fabs(d) <= delta)
		return (struct element){ 0.5 * d * d, d };
	return (struct element){ delta * fabs(d) - 0.5 * delta * delta, delta * sign(d) };
}
MEAN_ROW(huber)

static struct element log_cosh(double z, double y, double shape)
{
	const double d = z - y;

	(void)shape;
	return (struct element){ fabs(d) + log1p(exp(-2 * fabs(d))) - M_LN2, tanh(d) };
}
MEAN_ROW(log_cosh)

static struct element poisson(double z, double y, double shape)
{
	(void)shape;
	return (struct element){ z - y * log(z + EPSILON), 1 - y / (z + EPSILON) };
}
MEAN_ROW(poisson)

/* Keras makes -1 of the zeros of a label of zeros and ones. */
static double side(double y)
{
	return y == 0 ? -1 : y;
}

static struct element hinge(double z, double y, double shape)
{
	const double margin = 1 - side(y) * z;

	(void)shape;
	return margin > 0 ? (struct element){ margin, -side(y) } : (struct element){ 0, 0 };
}
MEAN_ROW(hinge)

static struct element squared_hinge(double z, double y, double shape)
{
	const double margin = fmax(1 - side(y) * z, 0);

	(void)shape;
	return (struct element){ margin * margin, -2 * margin * side(y) };
}
MEAN_ROW(squared_hinge)

/* ---- Sums over the outputs ---- */

static double clip(double x)
{
	return fmin(fmax(x, EPSILON), 1);
}

double loss_divergence_row(uint64_t outputs, const double *z, const double *label,
			   const struct loss_settings *settings, double *dz)
{
	double loss = 0;

	(void)settings;
	for (uint64_t i = 0; i < outputs; i++) {
		const double y = clip(label[i]), p = clip(z[i]);

		loss += y * log(y / p);
		if (dz)
			dz[i] = z[i] >= EPSILON && z[i] <= 1 ? -y / p : 0;
	}
	return loss;
}

/* Returns 1 / the norm of x, at most 1 / EPSILON. */
static double inverse_norm(uint64_t outputs, const double *x)
{
	double square = 0;

	for (uint64_t i = 0; i < outputs; i++)
		square += x[i] * x[i];
	return 1 / fmax(sqrt(square), EPSILON);
}

double loss_cosine_row(uint64_t outputs, const double *z, const double *label,
		       const struct loss_settings *settings, double *dz)
{
	const double by_z = inverse_norm(outputs, z), by_y = inverse_norm(outputs, label);
	double cosine = 0;

	(void)settings;
	for (uint64_t i = 0; i < outputs; i++)
		cosine += z[i] * by_z * label[i] * by_y;
	for (uint64_t i = 0; dz && i < outputs; i++)
		dz[i] = -by_z * (label[i] * by_y - (by_z < 1 / EPSILON ? cosine * z[i] * by_z : 0));
	return -cosine;
}
