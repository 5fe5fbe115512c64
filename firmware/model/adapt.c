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
	bool bytes;                        /* the feature has numbers of uint8, not float */
	uint64_t elements, columns;        /* how many numbers a row has; how many columns */
	double *mean, *squares;            /* one number for each column; squares: the sum of (x - mean)^2 */
};

struct adapt {
	const struct graph *graph;
	uint64_t rows;
	uint32_t layers;
	struct layer *layer;
};

/* ---- Layers to adapt ---- */

/* Returns the tensor of the feature that `tensor` is, or is outside training, or is a reshaped view of;
 * GRAPH_NO_TENSOR if `tensor` was computed. */
static uint32_t feature_of(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t i = graph->nodes; i-- > 0;)
		if (graph->node[i].output == tensor &&
		    (graph->node[i].op->view || graph->node[i].op->training_only))
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
	layer->bytes = graph_at(graph, graph->input[layer->input])->dtype == DTYPE_U8;
	layer->mean = calloc(layer->columns, sizeof(double));
	layer->squares = calloc(layer->columns, sizeof(double));
	return layer->mean && layer->squares ? 0 : error_set(err, -ENOMEM, "'%s': out of memory", node->name);
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
	for (uint32_t i = 0; r == 0 && i < graph->nodes; i++)
		if (graph->node[i].op->adapts)
			r = add_layer(adapt, &graph->node[i], given, err);
	if (r == 0)
		*ret_adapt = adapt->layers ? TAKE(adapt) : NULL;
	return r;
}

void adapt_close(struct adapt *adapt)
{
	if (!adapt)
		return;
	for (uint32_t i = 0; i < adapt->layers; i++) {
		free(adapt->layer[i].mean);
		free(adapt->layer[i].squares);
	}
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
	return layer->bytes ? ((const uint8_t *)input)[i] : (double)((const float *)input)[i];
}

/* Adds one number, from `first` on, to each column. `share` is 1 / the count of numbers in a column,
 * including the new one. Returns the first column whose new number is not finite, or `columns`. */
static uint64_t add_numbers(struct layer *layer, const void *input, uint64_t first, double share)
{
	for (uint64_t c = 0; c < layer->columns; c++) {
		const double number = number_at(layer, input, first + c), from = number - layer->mean[c];

		if (!isfinite(number))
			return c;
		layer->mean[c] += from * share;
		layer->squares[c] += from * (number - layer->mean[c]);
	}
	return layer->columns;
}

static int add_row(const struct adapt *adapt, struct layer *layer, const struct model_batch *batch,
		   uint32_t row, struct error *err)
{
	const void *input = batch->input[layer->input];
	const uint64_t outer = layer->elements / layer->columns;

	for (uint64_t i = 0; i < outer; i++) {
		const uint64_t before = adapt->rows * outer + i,
			       at = row * layer->elements + i * layer->columns,
			       bad = add_numbers(layer, input, at, 1 / (double)(before + 1));

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

static void begin_anew(struct adapt *adapt)
{
	adapt->rows = 0;
	for (uint32_t i = 0; i < adapt->layers; i++) {
		memset(adapt->layer[i].mean, 0, adapt->layer[i].columns * sizeof(double));
		memset(adapt->layer[i].squares, 0, adapt->layer[i].columns * sizeof(double));
	}
}

int adapt_batch(struct adapt *adapt, const struct model_batch *batch, struct error *err)
{
	if (batch->rows > adapt->graph->batch_rows)
		return error_set(err, -EINVAL, "batch: found %u rows, allowed: up to %" PRIu64, batch->rows,
				 adapt->graph->batch_rows);
	if (batch->first_row == 0)
		begin_anew(adapt);
	for (uint32_t row = 0; row < batch->rows; row++) {
		if (batch->empty && batch->empty[row])
			continue;
		for (uint32_t i = 0; i < adapt->layers; i++) {
			int r = add_row(adapt, &adapt->layer[i], batch, row, err);

			if (r < 0)
				return r;
		}
		adapt->rows++;
	}
	return 0;
}

uint64_t adapt_rows(const struct adapt *adapt)
{
	return adapt->rows;
}

static int end_layer(const struct adapt *adapt, const struct layer *layer, struct model *model,
		     struct error *err)
{
	const uint64_t count = adapt->rows * (layer->elements / layer->columns);
	CLEANUP(free_ptr) float *numbers = calloc(layer->columns, sizeof(*numbers));
	int r = numbers ? 0 : error_set(err, -ENOMEM, "%s: out of memory", layer->statistic[MEAN]);

	for (uint32_t i = 0; r == 0 && i < STATISTICS; i++) {
		for (uint64_t c = 0; c < layer->columns; c++)
			numbers[c] = (float)(i == MEAN ? layer->mean[c] : layer->squares[c] / (double)count);
		r = model_tensor_load(model, layer->statistic[i], numbers, layer->columns * sizeof(*numbers),
				      err);
	}
	return r;
}

int adapt_end(struct adapt *adapt, struct model *model, struct error *err)
{
	int r = 0;

	if (!adapt->rows)
		return error_set(err, -EBADMSG, "the training split: found no rows, so %s is not known",
				 adapt->layer[0].statistic[MEAN]);
	for (uint32_t i = 0; r == 0 && i < adapt->layers; i++)
		r = end_layer(adapt, &adapt->layer[i], model, err);
	return r;
}
