/* SPDX-License-Identifier: Apache-2.0 */
/* multi_head_attention in float64, a row and a head after the other. */
#include "model/layers/attention.h"
#include "model/layers/dropout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row in progress: numbers [steps, heads, size] of query, key and value, and the context; their gradients;
 * `weights` [keys] of a query before dropout, `factors` of dropout, `gradients` of the weights. */
struct row {
	const struct op_reference *r;
	struct attention_sizes size;
	uint64_t row;
	double *y[ATTENTION_OUTPUT + 1], *dy[ATTENTION_OUTPUT + 1]; /* by parameter; of OUTPUT: the context */
	double *weights, *factors, *gradients;
};

static const uint32_t projections[] = { ATTENTION_QUERY, ATTENTION_KEY, ATTENTION_VALUE };

static uint64_t steps_of(const struct row *of, uint32_t parameter)
{
	return parameter == ATTENTION_KEY || parameter == ATTENTION_VALUE ? of->size.keys : of->size.queries;
}

static uint64_t columns_of(const struct row *of, uint32_t parameter)
{
	return of->size.heads *
	       (parameter == ATTENTION_QUERY || parameter == ATTENTION_KEY ? of->size.size : of->size.values);
}

/* ---- Products with a kernel ---- */

static void project(const struct row *of, uint32_t parameter, const double *x, uint64_t in, double *y,
		    uint64_t out)
{
	const double *kernel = of->r->parameter[parameter], *bias = of->r->parameter[parameter + 1];

	for (uint64_t s = 0; s < steps_of(of, parameter); s++)
		for (uint64_t c = 0; c < out; c++) {
			double sum = bias ? bias[c] : 0;

			for (uint64_t k = 0; k < in; k++)
				sum += x[s * in + k] * kernel[k * out + c];
			y[s * out + c] = sum;
		}
}

/* Adds to the gradients of kernel, bias and x; each may be NULL. */
static void project_backward(const struct row *of, uint32_t parameter, const double *x, uint64_t in,
			     double *dx, const double *dy, uint64_t out)
{
	const double *kernel = of->r->parameter[parameter];
	double *dkernel = of->r->dparameter[parameter], *dbias = of->r->dparameter[parameter + 1];

	for (uint64_t s = 0; s < steps_of(of, parameter); s++)
		for (uint64_t c = 0; c < out; c++) {
			const double d = dy[s * out + c];

			if (dbias)
				dbias[c] += d;
			for (uint64_t k = 0; k < in; k++) {
				if (dkernel)
					dkernel[k * out + c] += x[s * in + k] * d;
				if (dx)
					dx[s * in + k] += d * kernel[k * out + c];
			}
		}
}

/* ---- Heads ---- */

static double *at(double *const *numbers, const struct row *of, uint32_t parameter, uint64_t step,
		  uint64_t head)
{
	const uint64_t columns = columns_of(of, parameter);

	return numbers[parameter] + step * columns + head * columns / of->size.heads;
}

static double product(const double *a, const double *b, uint64_t count)
{
	double sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static void add(double *sum, double factor, const double *x, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		sum[i] += factor * x[i];
}

/* Returns the row's ids of the mask of an input; NULL: all count. */
static const double *ids_of(const struct row *of, uint32_t input, uint64_t steps)
{
	return of->r->mask[input] ? of->r->mask[input] + of->row * steps : NULL;
}

/* Whether query i sees key j. */
static bool sees(const struct row *of, uint64_t i, uint64_t j)
{
	const double *query = ids_of(of, QUERY_INPUT, of->size.queries),
		     *key = ids_of(of, attention_input(of->r->node, ATTENTION_KEY), of->size.keys),
		     *value = ids_of(of, attention_input(of->r->node, ATTENTION_VALUE), of->size.keys);

	return !(query && query[i] == 0) && !(key && key[j] == 0) && !(value && value[j] == 0) &&
	       !(of->size.causal && j > i);
}

static void weigh(const struct row *of, uint64_t head, uint64_t i)
{
	const struct attention_sizes *size = &of->size;
	double most = -INFINITY, sum = 0;

	for (uint64_t j = 0; j < size->keys; j++) {
		of->weights[j] = size->scale * product(at(of->y, of, ATTENTION_QUERY, i, head),
						       at(of->y, of, ATTENTION_KEY, j, head), size->size);
		if (sees(of, i, j))
			most = fmax(most, of->weights[j]);
		of->factors[j] = size->dropout > 0 ? dropout_factor(of->r, size->dropout, of->row,
								    attention_drop_number(size, head, i, j))
						   : 1;
	}
	for (uint64_t j = 0; j < size->keys; j++)
		sum += of->weights[j] = sees(of, i, j) ? exp(of->weights[j] - most) : 0;
	for (uint64_t j = 0; sum != 0 && j < size->keys; j++)
		of->weights[j] /= sum;
}

static void query_forward(const struct row *of, uint64_t head, uint64_t i)
{
	weigh(of, head, i);
	for (uint64_t j = 0; j < of->size.keys; j++)
		add(at(of->y, of, ATTENTION_OUTPUT, i, head), of->weights[j] * of->factors[j],
		    at(of->y, of, ATTENTION_VALUE, j, head), of->size.values);
}

static void query_backward(const struct row *of, uint64_t head, uint64_t i)
{
	const struct attention_sizes *size = &of->size;
	const double *dcontext = at(of->dy, of, ATTENTION_OUTPUT, i, head);
	double sum = 0;

	weigh(of, head, i);
	for (uint64_t j = 0; j < of->size.keys; j++) {
		of->gradients[j] = of->factors[j] *
				   product(dcontext, at(of->y, of, ATTENTION_VALUE, j, head), size->values);
		sum += of->gradients[j] * of->weights[j];
		add(at(of->dy, of, ATTENTION_VALUE, j, head), of->weights[j] * of->factors[j], dcontext,
		    size->values);
	}
	for (uint64_t j = 0; j < size->keys; j++) {
		const double d = size->scale * of->weights[j] * (of->gradients[j] - sum);

		add(at(of->dy, of, ATTENTION_QUERY, i, head), d, at(of->y, of, ATTENTION_KEY, j, head),
		    size->size);
		add(at(of->dy, of, ATTENTION_KEY, j, head), d, at(of->y, of, ATTENTION_QUERY, i, head),
		    size->size);
	}
}

static void all_queries(const struct row *of, void (*query)(const struct row *of, uint64_t head, uint64_t i))
{
	for (uint64_t head = 0; head < of->size.heads; head++)
		for (uint64_t i = 0; i < of->size.queries; i++)
			query(of, head, i);
}

/* ---- Rows ---- */

/* Returns the numbers of this row in an array of the input that a parameter reads; NULL stays NULL. */
static double *of_input(const struct row *of, uint32_t parameter, double *numbers)
{
	const uint32_t input = of->r->node->input[attention_input(of->r->node, parameter)];

	return numbers ? numbers + of->row * graph_at(of->r->graph, input)->elements : NULL;
}

static uint64_t in_of(const struct row *of, uint32_t parameter)
{
	const uint32_t input = of->r->node->input[attention_input(of->r->node, parameter)];

	return tensor_last(graph_at(of->r->graph, input));
}

static void row_forward(const struct row *of)
{
	const uint64_t context = steps_of(of, ATTENTION_OUTPUT) * columns_of(of, ATTENTION_OUTPUT);

	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t p = projections[i];
		const double *x = of->r->x[attention_input(of->r->node, p)];

		project(of, p, x + of->row * steps_of(of, p) * in_of(of, p), in_of(of, p), of->y[p],
			columns_of(of, p));
	}
	memset(of->y[ATTENTION_OUTPUT], 0, context * sizeof(double));
	all_queries(of, query_forward);
	project(of, ATTENTION_OUTPUT, of->y[ATTENTION_OUTPUT], columns_of(of, ATTENTION_OUTPUT),
		of->r->y + of->row * of->r->outputs, of->size.outputs);
}

static void row_backward(const struct row *of)
{
	for (uint32_t p = 0; p <= ATTENTION_OUTPUT; p += 2)
		memset(of->dy[p], 0, steps_of(of, p) * columns_of(of, p) * sizeof(double));
	project_backward(of, ATTENTION_OUTPUT, of->y[ATTENTION_OUTPUT], columns_of(of, ATTENTION_OUTPUT),
			 of->dy[ATTENTION_OUTPUT], of->r->dy + of->row * of->r->outputs, of->size.outputs);
	all_queries(of, query_backward);
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t p = projections[i];
		const double *x = of->r->x[attention_input(of->r->node, p)];

		project_backward(of, p, x + of->row * steps_of(of, p) * in_of(of, p), in_of(of, p),
				 of_input(of, p, of->r->dx[attention_input(of->r->node, p)]), of->dy[p],
				 columns_of(of, p));
	}
}

static void clear_gradients(const struct op_reference *r)
{
	for (uint32_t i = 0; r->dy && i < ATTENTION_PARAMETERS_MAX; i++)
		if (r->dparameter[i])
			memset(r->dparameter[i], 0,
			       graph_at(r->graph, r->node->parameter[i])->elements * sizeof(double));
	for (uint32_t i = 0; r->dy && i < r->node->inputs; i++)
		if (r->dx[i])
			memset(r->dx[i], 0,
			       r->rows * graph_at(r->graph, r->node->input[i])->elements * sizeof(double));
}

void attention_reference(const struct op_reference *r)
{
	struct row of = { .r = r, .size = attention_sizes_of(r->graph, r->node) };
	uint64_t count = 3 * of.size.keys;
	double *all, *left;

	for (uint32_t p = 0; p <= ATTENTION_OUTPUT; p += 2)
		count += 2 * steps_of(&of, p) * columns_of(&of, p);
	all = left = calloc(count, sizeof(*all));
	if (!all)
		abort();
	for (uint32_t p = 0; p <= ATTENTION_OUTPUT; p += 2) {
		of.y[p] = left;
		of.dy[p] = left += steps_of(&of, p) * columns_of(&of, p);
		left += steps_of(&of, p) * columns_of(&of, p);
	}
	of.weights = left;
	of.factors = left + of.size.keys;
	of.gradients = left + 2 * of.size.keys;
	clear_gradients(r);
	for (of.row = 0; of.row < r->rows; of.row++) {
		row_forward(&of);
		if (r->dy)
			row_backward(&of);
	}
	free(all);
}
