/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent layers in float64, a row after the other. Steps are in the order of the recurrence. */
#include "model/kernels/recurrent_flags.h"
#include "model/layers/dropout.h"
#include "model/layers/recurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row leaves for its backward pass: x [time, features], the values of the gates [time, gates, units],
 * cells [time, units] (lstm c, gru h U + b' of the third gate), h [time + 1, units] with the zeros before
 * step 0. */
struct history {
	const struct op_reference *r;
	struct recurrent_sizes size;
	uint64_t row, width; /* width: gates * units */
	double *x, *gates, *cells, *h;
};

static double activate(double x, int function)
{
	switch (function) {
	case RECURRENT_TANH:
		return tanh(x);
	case RECURRENT_SIGMOID:
		return 1 / (1 + exp(-x));
	case RECURRENT_HARD_SIGMOID:
		return fmin(fmax(x / 6 + 0.5, 0), 1);
	case RECURRENT_RELU:
		return fmax(x, 0);
	default:
		return x;
	}
}

/* Returns the derivative of a function where its value is y. */
static double slope(double y, int function)
{
	switch (function) {
	case RECURRENT_TANH:
		return 1 - y * y;
	case RECURRENT_SIGMOID:
		return y * (1 - y);
	case RECURRENT_HARD_SIGMOID:
		return y > 0 && y < 1 ? 1 / 6.0 : 0;
	case RECURRENT_RELU:
		return y > 0;
	default:
		return 1;
	}
}

static double bias_of(const struct history *of, uint64_t column)
{
	return of->r->parameter[RECURRENT_BIAS] ? of->r->parameter[RECURRENT_BIAS][column] : 0;
}

/* Returns x W, or h U, of a step and a column. */
static double product(const double *x, uint64_t count, const double *matrix, uint64_t width, uint64_t column)
{
	double sum = 0;

	for (uint64_t k = 0; k < count; k++)
		sum += x[k] * matrix[k * width + column];
	return sum;
}

static void read_input(struct history *of)
{
	const struct recurrent_sizes *size = &of->size;

	for (uint64_t s = 0; s < size->time; s++)
		for (uint64_t k = 0; k < size->features; k++) {
			const uint64_t t = size->backwards ? size->time - 1 - s : s;

			of->x[s * size->features + k] =
				of->r->x[0][(of->row * size->time + t) * size->features + k] *
				(size->dropout > 0 ? dropout_factor(of->r, size->dropout, of->row, k) : 1);
		}
}

/* Whether the mask leaves step s of the row out. */
static bool is_skipped(const struct history *of, uint64_t s)
{
	const uint64_t t = of->size.backwards ? of->size.time - 1 - s : s;

	return of->r->mask[0] && of->r->mask[0][of->row * of->size.time + t] == 0;
}

static double *output_at(const struct history *of, const double *y, uint64_t s)
{
	const struct recurrent_sizes *size = &of->size;
	const uint64_t t = size->backwards && size->in_order ? size->time - 1 - s : s;

	if (!size->sequences)
		return s == size->time - 1 ? (double *)y + of->row * size->units : NULL;
	return (double *)y + (of->row * size->time + t) * size->units;
}

/* One unit of a step. in: x W + b of its gates; inner: h U + b'. */
static void unit_forward(struct history *of, uint64_t s, uint64_t j, const double *in, const double *inner)
{
	const struct recurrent_sizes *size = &of->size;
	const int f = size->activation, g = size->gate_activation;
	double *gate = of->gates + s * of->width + j, *h = of->h + (s + 1) * size->units + j,
	       *cell = of->cells + s * size->units + j;
	const uint64_t next = size->units;

	if (is_skipped(of, s)) {
		*h = *(h - next);
		*cell = s ? *(cell - next) : 0;
	} else if (size->gates == 4) {
		for (uint64_t i = 0; i < 4; i++)
			gate[i * next] = activate(in[i] + inner[i], i == 2 ? f : g);
		*cell = gate[next] * (s ? *(cell - next) : 0) + gate[0] * gate[2 * next];
		*h = gate[3 * next] * activate(*cell, f);
	} else if (size->gates == 3) {
		gate[0] = activate(in[0] + inner[0], g);
		gate[next] = activate(in[1] + inner[1], g);
		*cell = inner[2];
		gate[2 * next] = activate(in[2] + gate[next] * inner[2], f);
		*h = gate[0] * *(h - next) + (1 - gate[0]) * gate[2 * next];
	} else {
		*h = gate[0] = activate(in[0] + inner[0], f);
	}
}

static void row_forward(struct history *of)
{
	const struct recurrent_sizes *size = &of->size;
	const double *w = of->r->parameter[RECURRENT_KERNEL],
		     *u = of->r->parameter[RECURRENT_RECURRENT_KERNEL];

	read_input(of);
	for (uint64_t s = 0; s < size->time; s++) {
		double *y = output_at(of, of->r->y, s);

		for (uint64_t j = 0; j < size->units; j++) {
			double in[4] = { 0 }, inner[4] = { 0 };

			for (uint64_t i = 0; i < size->gates; i++) {
				const uint64_t column = i * size->units + j;

				in[i] = product(of->x + s * size->features, size->features, w, of->width,
						column) +
					bias_of(of, column);
				inner[i] =
					product(of->h + s * size->units, size->units, u, of->width, column) +
					(size->gates == 3 ? bias_of(of, of->width + column) : 0);
			}
			unit_forward(of, s, j, in, inner);
			if (y)
				y[j] = of->h[(s + 1) * size->units + j];
		}
	}
}

/* Gradients of a step: dh, dc [units] come from the next step and go to the one before. din and dinner
 * [gates, units]: of x W + b and of h U + b'. */
struct step {
	double *dh, *dc, *din, *dinner;
};

static void unit_backward(const struct history *of, uint64_t s, uint64_t j, const struct step *step)
{
	const struct recurrent_sizes *size = &of->size;
	const int f = size->activation, g = size->gate_activation;
	const uint64_t next = size->units;
	const double *gate = of->gates + s * of->width + j, *cell = of->cells + s * size->units + j;
	double *din = step->din + j, d = step->dh[j];

	if (is_skipped(of, s)) {
		for (uint64_t i = 0; i < size->gates; i++)
			din[i * next] = step->dinner[i * next + j] = 0;
		return;
	}
	step->dh[j] = 0;
	if (size->gates == 4) {
		const double out = activate(*cell, f);
		const double dc = step->dc[j] + d * gate[3 * next] * slope(out, f);

		din[0] = dc * gate[2 * next] * slope(gate[0], g);
		din[next] = dc * (s ? *(cell - next) : 0) * slope(gate[next], g);
		din[2 * next] = dc * gate[0] * slope(gate[2 * next], f);
		din[3 * next] = d * out * slope(gate[3 * next], g);
		step->dc[j] = dc * gate[next];
	} else if (size->gates == 3) {
		const double dm = d * (1 - gate[0]) * slope(gate[2 * next], f);

		din[0] = d * (of->h[s * next + j] - gate[2 * next]) * slope(gate[0], g);
		din[next] = dm * *cell * slope(gate[next], g);
		din[2 * next] = dm;
		step->dh[j] = d * gate[0];
	} else {
		din[0] = d * slope(gate[0], f);
	}
	for (uint64_t i = 0; i < size->gates; i++)
		step->dinner[i * next + j] = din[i * next] * (size->gates == 3 && i == 2 ? gate[next] : 1);
}

/* dmatrix += x^T dy, dx += dy matrix^T; each may be NULL. */
static void add_products(const double *x, uint64_t count, const double *matrix, const double *dy,
			 uint64_t width, double *dmatrix, double *dx)
{
	for (uint64_t k = 0; k < count; k++)
		for (uint64_t c = 0; c < width; c++) {
			if (dmatrix)
				dmatrix[k * width + c] += x[k] * dy[c];
			if (dx)
				dx[k] += dy[c] * matrix[k * width + c];
		}
}

static void add_bias(double *dbias, const double *dy, uint64_t width)
{
	for (uint64_t c = 0; dbias && c < width; c++)
		dbias[c] += dy[c];
}

static void step_backward(struct history *of, uint64_t s, const struct step *step)
{
	const struct op_reference *r = of->r;
	const struct recurrent_sizes *size = &of->size;
	const uint64_t t = size->backwards ? size->time - 1 - s : s;
	const double *dy = output_at(of, r->dy, s);
	double *dx = r->dx[0] ? r->dx[0] + (of->row * size->time + t) * size->features : NULL;

	for (uint64_t j = 0; dy && j < size->units; j++)
		step->dh[j] += dy[j];
	for (uint64_t j = 0; j < size->units; j++)
		unit_backward(of, s, j, step);
	add_products(of->x + s * size->features, size->features, r->parameter[RECURRENT_KERNEL], step->din,
		     of->width, r->dparameter[RECURRENT_KERNEL], dx);
	add_products(of->h + s * size->units, size->units, r->parameter[RECURRENT_RECURRENT_KERNEL],
		     step->dinner, of->width, r->dparameter[RECURRENT_RECURRENT_KERNEL], step->dh);
	add_bias(r->dparameter[RECURRENT_BIAS], step->din, of->width);
	if (size->gates == 3 && r->dparameter[RECURRENT_BIAS])
		add_bias(r->dparameter[RECURRENT_BIAS] + of->width, step->dinner, of->width);
	for (uint64_t k = 0; dx && size->dropout > 0 && k < size->features; k++)
		dx[k] *= dropout_factor(r, size->dropout, of->row, k);
}

static void row_backward(struct history *of, const struct step *step)
{
	memset(step->dh, 0, of->size.units * sizeof(double));
	memset(step->dc, 0, of->size.units * sizeof(double));
	for (uint64_t s = of->size.time; s-- > 0;)
		step_backward(of, s, step);
}

static double *numbers(double **free_numbers, uint64_t count)
{
	double *own = *free_numbers;

	*free_numbers += count;
	return own;
}

static void clear_gradients(const struct op_reference *r)
{
	for (uint32_t i = 0; r->dy && i < RECURRENT_PARAMETERS_MAX; i++)
		if (r->dparameter[i])
			memset(r->dparameter[i], 0,
			       graph_at(r->graph, r->node->parameter[i])->elements * sizeof(double));
	if (r->dy && r->dx[0])
		memset(r->dx[0], 0, r->rows * r->inputs * sizeof(double));
}

void recurrent_reference(const struct op_reference *r)
{
	struct history of = { .r = r, .size = recurrent_sizes_of(r->graph, r->node) };
	const uint64_t units = of.size.units, time = of.size.time;
	double *all, *left;
	struct step step;

	of.width = of.size.gates * units;
	all = left = calloc(time * (of.size.features + of.width + 2 * units) + 3 * units + 2 * of.width,
			    sizeof(*all));
	if (!all)
		abort();
	of.h = numbers(&left, (time + 1) * units);
	of.x = numbers(&left, time * of.size.features);
	of.gates = numbers(&left, time * of.width);
	of.cells = numbers(&left, time * units);
	step = (struct step){ numbers(&left, units), numbers(&left, units), numbers(&left, of.width),
			      numbers(&left, of.width) };
	clear_gradients(r);
	for (of.row = 0; of.row < r->rows; of.row++) {
		row_forward(&of);
		if (r->dy)
			row_backward(&of, &step);
	}
	free(all);
}
