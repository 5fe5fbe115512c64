/* SPDX-License-Identifier: Apache-2.0 */
#include "model/adapt.h"

#include "model/graph/op.h"
#include "model/weights.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MEAN, VARIANCE, STATISTICS };

/* The sums of one layer: a sum for each column, which is an index of the last dimension of the layer's input.
 */
struct layer {
	const char *statistic[STATISTICS]; /* names of the tensors that hold mean and variance */
	uint32_t input;                    /* index of the layer's input in the batch */
	enum dtype dtype;                  /* type of the feature: F32, U8 or I64 */
	uint64_t elements, columns;        /* how many numbers a row has; how many columns */
	uint64_t first; /* the layer's place in the numbers of a lane: the mean of each column, then the
			   squares: the sum of (x - mean)^2 of each column */
};

struct adapt {
	const struct graph *graph;
	uint32_t layers, lanes;
	struct layer *layer;
	uint64_t count;  /* numbers of a lane: its rows, then those of each layer */
	double *numbers; /* [lanes, count] */
};

static double *lane_numbers(const struct adapt *adapt, uint32_t lane)
{
	return adapt->numbers + lane * adapt->count;
}

/* Returns how many numbers of a row are in each column. */
static uint64_t numbers_of_row(const struct layer *layer)
{
	return layer->elements / layer->columns;
}

/* The statistics of a layer in the numbers of a lane. */
struct statistics {
	double *mean, *squares;
};

static struct statistics statistics_of(const struct layer *layer, double *numbers)
{
	return (struct statistics){ numbers + layer->first, numbers + layer->first + layer->columns };
}

/* ---- Layers to adapt ---- */

/* Returns the tensor of the feature that `tensor` is, or is outside training, or is a reshaped view or a cast
 * of; GRAPH_NO_TENSOR if `tensor` was computed. */
static uint32_t feature_of(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t i = graph->nodes; i-- > 0;)
		if (graph->node[i].output == tensor &&
		    (graph->node[i].op->view || graph->node[i].op->training_only || graph->node[i].op->casts))
			tensor = graph->node[i].input[0];
	return graph_at(graph, tensor)->feature ? tensor : GRAPH_NO_TENSOR;
}

/* Returns the index of the batch's input from which the statistics of a layer are computed; graph->inputs if
 * the layer does not read one. */
static uint32_t input_of(const struct graph *graph, const struct node *node)
{
	const uint32_t feature = feature_of(graph, node->input[0]);
	uint32_t input = 0;

	while (input < graph->inputs && graph->input[input] != feature)
		input++;
	return input;
}

static bool is_configured(const struct node *node)
{
	return node->attribute[VARIANCE].f > 0;
}

#define NOT_OF_A_FEATURE                                                                                  \
	"found the input '%s', allowed: a feature, whose statistics are those of the training split; or " \
	"`mean` and `variance`; or model.weights with %s and %s"

void adapt_check(const struct graph *graph, struct mistakes *mistakes)
{
	if (*graph->config->model.weights || graph->config->run.start_from != START_SCRATCH)
		return; /* model.weights or the run to start from may give the statistics */
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct node *node = &graph->node[i];

		if (node->op->adapts && !is_configured(node) && input_of(graph, node) == graph->inputs)
			mistakes_add(mistakes, node->line, "model.layers.inputs: " NOT_OF_A_FEATURE,
				     graph_at(graph, node->input[0])->name,
				     graph_at(graph, node->parameter[MEAN])->name,
				     graph_at(graph, node->parameter[VARIANCE])->name);
	}
}

static int add_layer(struct adapt *adapt, const struct node *node, const struct weights *given,
		     struct error *err)
{
	const struct graph *graph = adapt->graph;
	const struct tensor *input = graph_at(graph, node->input[0]);
	struct layer *layer = &adapt->layer[adapt->layers];

	*layer = (struct layer){ .input = input_of(graph, node),
				 .elements = input->elements,
				 .columns = tensor_last(input) };
	for (uint32_t i = 0; i < STATISTICS; i++)
		layer->statistic[i] = graph_at(graph, node->parameter[i])->name;
	if (is_configured(node) ||
	    (weights_have(given, layer->statistic[MEAN]) && weights_have(given, layer->statistic[VARIANCE])))
		return 0;
	adapt->layers++;
	if (layer->input == graph->inputs)
		return error_set(err, -EINVAL, "layer '%s': " NOT_OF_A_FEATURE, node->name, input->name,
				 layer->statistic[MEAN], layer->statistic[VARIANCE]);
	layer->dtype = graph_at(graph, graph->input[layer->input])->dtype;
	layer->first = adapt->count;
	adapt->count += 2 * layer->columns;
	return 0;
}

int adapt_open(const struct graph *graph, const struct weights *given, struct adapt **ret_adapt,
	       struct error *err)
{
	CLEANUP(adapt_closep) struct adapt *adapt = calloc(1, sizeof(*adapt));
	int r = 0;

	if (adapt)
		adapt->layer = calloc(graph->nodes + 1, sizeof(*adapt->layer));
	if (!adapt || !adapt->layer)
		return error_set(err, -ENOMEM, "adapt: out of memory");
	adapt->graph = graph;
	adapt->lanes = graph->parts > 1 ? graph->lanes : 1;
	adapt->count = 1;
	for (uint32_t i = 0; r == 0 && i < graph->nodes; i++)
		if (graph->node[i].op->adapts)
			r = add_layer(adapt, &graph->node[i], given, err);
	if (r < 0)
		return r;
	adapt->numbers = calloc(adapt->lanes * adapt->count, sizeof(*adapt->numbers));
	if (!adapt->numbers)
		return error_set(err, -ENOMEM, "adapt: out of memory");
	*ret_adapt = adapt->layers ? TAKE(adapt) : NULL;
	return 0;
}

void adapt_close(struct adapt *adapt)
{
	if (!adapt)
		return;
	free(adapt->numbers);
	free(adapt->layer);
	free(adapt);
}

void adapt_closep(struct adapt **adapt)
{
	adapt_close(*adapt);
}

/* ---- Sums ---- */

static double number_at(const struct layer *layer, const void *input, uint64_t i)
{
	switch (layer->dtype) {
	case DTYPE_U8:
		return ((const uint8_t *)input)[i];
	case DTYPE_I64: /* as the layer reads it, behind the cast */
		return (double)(float)((const int64_t *)input)[i];
	default:
		return (double)((const float *)input)[i];
	}
}

/* Adds one number, from `first` on, to each column. `share` is 1 / the count of numbers in a column,
 * including the new one. Returns the first column whose new number is not finite, or `columns`. */
static uint64_t add_numbers(const struct layer *layer, struct statistics sums, const void *input,
			    uint64_t first, double share)
{
	for (uint64_t c = 0; c < layer->columns; c++) {
		const double number = number_at(layer, input, first + c), from = number - sums.mean[c];

		if (!isfinite(number))
			return c;
		sums.mean[c] += from * share;
		sums.squares[c] += from * (number - sums.mean[c]);
	}
	return layer->columns;
}

/* Adds a row to the numbers of its lane. */
static int add_row(const struct adapt *adapt, const struct layer *layer, double *numbers,
		   const struct model_batch *batch, uint32_t row, struct error *err)
{
	const void *input = batch->input[layer->input];
	const uint64_t outer = numbers_of_row(layer);

	for (uint64_t i = 0; i < outer; i++) {
		const uint64_t before = (uint64_t)numbers[0] * outer + i,
			       at = row * layer->elements + i * layer->columns,
			       bad = add_numbers(layer, statistics_of(layer, numbers), input, at,
						 1 / (double)(before + 1));

		if (bad < layer->columns)
			return error_set(err, -EDOM,
					 "row %" PRIu64 " of the training split, %" PRIu32
					 " of its batch: feature '%s': found %g in number %" PRIu64
					 ", allowed: finite numbers",
					 batch->first_row + order_batch_row(&batch->part, row), row,
					 graph_at(adapt->graph, adapt->graph->input[layer->input])->name,
					 number_at(layer, input, at + bad), i * layer->columns + bad);
	}
	return 0;
}

static uint32_t lane_of(const struct adapt *adapt, const struct model_batch *batch, uint32_t row)
{
	return adapt->lanes > 1 ? batch->part.first + row / batch->part.lane_rows : 0;
}

int adapt_batch(struct adapt *adapt, const struct model_batch *batch, struct error *err)
{
	const uint64_t most = adapt->graph->batch_rows * adapt->graph->parts;

	if (batch->rows > most)
		return error_set(err, -EINVAL, "batch: found %u rows, allowed: up to %" PRIu64, batch->rows,
				 most);
	if (batch->first_row == 0)
		memset(adapt->numbers, 0, adapt->lanes * adapt->count * sizeof(*adapt->numbers));
	for (uint32_t row = 0; row < batch->rows; row++) {
		double *numbers = lane_numbers(adapt, lane_of(adapt, batch, row));

		if (batch->empty && batch->empty[row])
			continue;
		for (uint32_t i = 0; i < adapt->layers; i++) {
			int r = add_row(adapt, &adapt->layer[i], numbers, batch, row, err);

			if (r < 0)
				return r;
		}
		numbers[0]++;
	}
	return 0;
}

double *adapt_lane(struct adapt *adapt, uint32_t lane, uint64_t *ret_bytes)
{
	*ret_bytes = adapt->count * sizeof(*adapt->numbers);
	return lane_numbers(adapt, lane);
}

uint64_t adapt_rows(const struct adapt *adapt)
{
	uint64_t rows = 0;

	for (uint32_t lane = 0; lane < adapt->lanes; lane++)
		rows += (uint64_t)lane_numbers(adapt, lane)[0];
	return rows;
}

/* ---- The end ---- */

/* Adds the statistics of `from` to those of `to` (Chan, Golub and LeVeque's method), which then are of both.
 */
static void merge_layer(const struct layer *layer, double *to, double *from)
{
	const double outer = (double)numbers_of_row(layer), a = to[0] * outer, b = from[0] * outer;
	const struct statistics all = statistics_of(layer, to), more = statistics_of(layer, from);

	for (uint64_t c = 0; b > 0 && c < layer->columns; c++) {
		const double apart = more.mean[c] - all.mean[c];

		all.mean[c] += apart * (b / (a + b));
		all.squares[c] += more.squares[c] + apart * apart * (a * b / (a + b));
	}
}

/* Adds all lanes to lane 0, in their order. */
static double *merge(struct adapt *adapt)
{
	double *all = lane_numbers(adapt, 0);

	for (uint32_t lane = 1; lane < adapt->lanes; lane++) {
		double *more = lane_numbers(adapt, lane);

		for (uint32_t i = 0; i < adapt->layers; i++)
			merge_layer(&adapt->layer[i], all, more);
		all[0] += more[0];
		memset(more, 0, adapt->count * sizeof(*more));
	}
	return all;
}

static int end_layer(const struct layer *layer, double *all, struct model *model, struct error *err)
{
	const struct statistics sums = statistics_of(layer, all);
	const double count = all[0] * (double)numbers_of_row(layer);
	CLEANUP(free_ptr) float *numbers = calloc(layer->columns, sizeof(*numbers));
	int r = numbers ? 0 : error_set(err, -ENOMEM, "%s: out of memory", layer->statistic[MEAN]);

	for (uint32_t i = 0; r == 0 && i < STATISTICS; i++) {
		for (uint64_t c = 0; c < layer->columns; c++)
			numbers[c] = (float)(i == MEAN ? sums.mean[c] : sums.squares[c] / count);
		r = model_tensor_load(model, layer->statistic[i], numbers, layer->columns * sizeof(*numbers),
				      err);
	}
	return r;
}

int adapt_end(struct adapt *adapt, struct model *model, struct error *err)
{
	double *all = merge(adapt);
	int r = 0;

	if (all[0] == 0)
		return error_set(err, -EBADMSG, "the training split: found no rows, so %s is not known",
				 adapt->layer[0].statistic[MEAN]);
	for (uint32_t i = 0; r == 0 && i < adapt->layers; i++)
		r = end_layer(&adapt->layer[i], all, model, err);
	return r;
}
