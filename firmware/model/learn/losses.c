/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/losses.h"

#include "model/graph/op.h"
#include "model/learn/loss_rows.h"
#include "model/learn/loss_scale.h"
#include "model/plan/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- The table ---- */

static void huber_settings(const struct config *config, struct loss_settings *settings)
{
	settings->shape = config->model.huber_delta;
}

static void categorical_focal_settings(const struct config *config, struct loss_settings *settings)
{
	settings->shape = config->model.focal_gamma;
	settings->ones = config->model.focal_alpha;
}

static void binary_focal_settings(const struct config *config, struct loss_settings *settings)
{
	const bool balances = config->model.focal_balancing;

	settings->shape = config->model.focal_gamma;
	settings->ones = balances ? config->model.focal_alpha : 1;
	settings->zeros = balances ? 1 - config->model.focal_alpha : 1;
}

#define KERNELS(name) .kernel = #name, .kernel_group = #name "_group"
#define NUMBERS(its_name, kernel, its_row)                                                       \
	{                                                                                        \
		.name = its_name, .kind = METRICS_NUMBERS, .float_label = true, KERNELS(kernel), \
		.row = its_row                                                                   \
	}

static const struct loss losses[] = {
	{ .name = "categorical_crossentropy",
	  .kind = METRICS_CLASSES,
	  .output_op = "softmax",
	  .float_label = true,
	  .one_row = true,
	  .smooths = true,
	  .label_limit = 2,
	  KERNELS(softmax_crossentropy),
	  .row = loss_softmax_row },
	{ .name = "sparse_categorical_crossentropy",
	  .kind = METRICS_CLASSES,
	  .output_op = "softmax",
	  .class_label = true,
	  .one_row = true,
	  KERNELS(softmax_crossentropy),
	  .row = loss_sparse_row },
	{ .name = "binary_crossentropy",
	  .kind = METRICS_LABELS,
	  .output_op = "sigmoid",
	  .float_label = true,
	  .one_row = true,
	  .smooths = true,
	  .label_limit = 2,
	  KERNELS(sigmoid_crossentropy),
	  .row = loss_sigmoid_row },
	{ .name = "categorical_focal_crossentropy",
	  .kind = METRICS_CLASSES,
	  .output_op = "softmax",
	  .float_label = true,
	  .one_row = true,
	  .smooths = true,
	  .label_limit = 2,
	  KERNELS(softmax_focal),
	  .row = loss_softmax_focal_row,
	  .settings = categorical_focal_settings },
	{ .name = "binary_focal_crossentropy",
	  .kind = METRICS_LABELS,
	  .output_op = "sigmoid",
	  .float_label = true,
	  .one_row = true,
	  .smooths = true,
	  .label_limit = 2,
	  KERNELS(sigmoid_focal),
	  .row = loss_sigmoid_focal_row,
	  .settings = binary_focal_settings },
	NUMBERS("mean_squared_error", squared_error, loss_squared_row),
	NUMBERS("mean_absolute_error", absolute_error, loss_absolute_row),
	{ .name = "huber",
	  .kind = METRICS_NUMBERS,
	  .float_label = true,
	  KERNELS(huber_error),
	  .row = loss_huber_row,
	  .settings = huber_settings },
	NUMBERS("log_cosh", log_cosh_error, loss_log_cosh_row),
	NUMBERS("poisson", poisson_error, loss_poisson_row),
	NUMBERS("hinge", hinge_error, loss_hinge_row),
	NUMBERS("squared_hinge", squared_hinge_error, loss_squared_hinge_row),
	{ .name = "kl_divergence",
	  .kind = METRICS_NUMBERS,
	  .float_label = true,
	  .one_row = true,
	  KERNELS(divergence),
	  .row = loss_divergence_row },
	{ .name = "cosine_similarity",
	  .kind = METRICS_NUMBERS,
	  .float_label = true,
	  .one_row = true,
	  KERNELS(cosine_distance),
	  .row = loss_cosine_row },
};

const struct loss *loss_find(const char *name)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (!strcmp(losses[i].name, name))
			return &losses[i];
	return NULL;
}

const char *loss_names(void)
{
	return "categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy, "
	       "categorical_focal_crossentropy, binary_focal_crossentropy, mean_squared_error, "
	       "mean_absolute_error, huber, log_cosh, poisson, hinge, squared_hinge, kl_divergence, "
	       "cosine_similarity";
}

struct loss_settings loss_settings_of(const struct loss *loss, const struct config *config)
{
	struct loss_settings settings = { .smoothing = config->model.label_smoothing };

	if (loss->settings)
		loss->settings(config, &settings);
	return settings;
}

/* ---- Checks ---- */

static const struct tensor *output_of(const struct graph *graph)
{
	return graph_at(graph, graph->node[graph->nodes - 1].output);
}

/* Returns the number of classes: the number of outputs, or 2 if one output distinguishes two classes. */
static uint64_t classes_of(const struct graph *graph)
{
	const uint64_t outputs = output_of(graph)->elements;

	return outputs == 1 && !graph->loss->class_label ? 2 : outputs;
}

static void check_label(const struct graph *graph, struct mistakes *mistakes)
{
	const struct loss *loss = graph->loss;
	const struct tensor *label = graph_at(graph, graph->label), *output = output_of(graph);
	const unsigned line = config_line(graph->config, "model.label");
	const char *type = label->dtype == DTYPE_I64 ? "int64" : "float32";

	if (label->dtype != DTYPE_I64 && !loss->float_label)
		mistakes_add(mistakes, line, "model.label: found '%s', %s, allowed with loss %s: int64",
			     label->name, type, loss->name);
	else if (loss->class_label && label->elements != 1)
		mistakes_add(mistakes, line,
			     "model.label: found '%s', %s of %" PRIu64
			     " numbers a row, allowed with loss %s: "
			     "1, the number of a class",
			     label->name, type, label->elements, loss->name);
	else if (!loss->class_label && label->elements != output->elements)
		mistakes_add(mistakes, graph->node[graph->nodes - 1].line,
			     "model.layers: found %" PRIu64 " outputs, allowed: %" PRIu64
			     ", the classes of label '%s'",
			     output->elements, label->elements, label->name);
	else if (loss->one_row && tensor_outer(output) != 1)
		mistakes_add(mistakes, graph->node[graph->nodes - 1].line,
			     "model.layers: found %" PRIu64 " positions of %" PRIu64
			     " outputs each, allowed with loss %s: 1",
			     tensor_outer(output), tensor_last(output), loss->name);
}

static void check_weights(const struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const uint32_t weights = config->model.class_weights.count;
	const char *sample = config->model.sample_weight;
	const struct tensor *weight =
		graph->weight == GRAPH_NO_TENSOR ? NULL : graph_at(graph, graph->weight);

	if (weights && weights != classes_of(graph))
		mistakes_add(mistakes, config_line(config, "model.class_weights"),
			     "model.class_weights: found %u, allowed: %" PRIu64 ", one a class", weights,
			     classes_of(graph));
	if (weights && sample && *sample)
		mistakes_add(mistakes, config_line(config, "model.class_weights"),
			     "model.class_weights: found beside model.sample_weight, allowed: one of them");
	if (weight && (!weight->feature || weight->feature->values_max || weight->dtype != DTYPE_F32 ||
		       weight->elements != 1))
		mistakes_add(
			mistakes, config_line(config, "model.sample_weight"),
			"model.sample_weight: found \"%s\", allowed: a float32 feature of `schema` with one "
			"number a row",
			sample);
}

/* Notes callbacks that monitor the accuracy, if the loss is of METRICS_NUMBERS and therefore has none. */
static void check_accuracy(const struct graph *graph, struct mistakes *mistakes)
{
	const struct config *config = graph->config;
	const struct {
		const char *key;
		int monitor;
	} monitors[] = { { "early_stopping.monitor", config->early_stopping.monitor },
			 { "reduce_on_plateau.monitor", config->reduce_on_plateau.monitor },
			 { "keep_best.monitor", config->keep_best.monitor } };

	if (graph->loss->kind != METRICS_NUMBERS)
		return;
	for (size_t i = 0; i < sizeof(monitors) / sizeof(*monitors); i++)
		if (monitors[i].monitor == MONITOR_ACCURACY || monitors[i].monitor == MONITOR_VAL_ACCURACY)
			mistakes_add(
				mistakes, config_line(config, monitors[i].key),
				"%s: found \"%s\", allowed with loss %s: \"none\", \"loss\", \"val_loss\"",
				monitors[i].key,
				monitors[i].monitor == MONITOR_ACCURACY ? "accuracy" : "val_accuracy",
				graph->loss->name);
	if (config->model.top_k)
		mistakes_add(mistakes, config_line(config, "model.top_k"),
			     "model.top_k: found %" PRIu64 ", allowed with loss %s: 0", config->model.top_k,
			     graph->loss->name);
}

void loss_check(const struct graph *graph, struct mistakes *mistakes)
{
	const struct loss *loss = graph->loss;
	const struct config *config = graph->config;
	const struct node *last = &graph->node[graph->nodes - 1];

	if (!loss || !last->op)
		return;
	if (config->model.label_smoothing > 0 && !loss->smooths)
		mistakes_add(mistakes, config_line(config, "model.label_smoothing"),
			     "model.label_smoothing: found %g, allowed with loss %s: 0",
			     config->model.label_smoothing, loss->name);
	check_accuracy(graph, mistakes);
	if (loss->output_op && strcmp(last->op->name, loss->output_op) != 0) {
		mistakes_add(mistakes, last->line,
			     "model.layers.op: found \"%s\" as the last, allowed with loss %s: \"%s\"",
			     last->op->name, loss->name, loss->output_op);
		return;
	}
	if (!output_of(graph)->elements || !graph_at(graph, graph->label)->elements)
		return;
	check_label(graph, mistakes);
	check_weights(graph, mistakes);
	if (loss->kind != METRICS_NUMBERS && config->model.top_k > classes_of(graph))
		mistakes_add(mistakes, config_line(config, "model.top_k"),
			     "model.top_k: found %" PRIu64 ", allowed: at most %" PRIu64 ", the classes",
			     config->model.top_k, classes_of(graph));
}

uint64_t loss_label_limit(const struct graph *graph)
{
	return graph->loss->class_label ? output_of(graph)->elements : graph->loss->label_limit;
}

/* ---- Launches ---- */

void loss_layout(struct graph *graph)
{
	const struct config_numbers *weights = &graph->config->model.class_weights;
	const struct tensor tensor = { .name = "class_weights",
				       .role = ROLE_WORK,
				       .arena = ARENA_WORK,
				       .rank = 1,
				       .shape = { weights->count } };
	float *numbers;

	graph->class_weights = GRAPH_NO_TENSOR;
	if (!weights->count)
		return;
	numbers = calloc(weights->count, sizeof(*numbers));
	if (!numbers)
		abort(); /* no memory: end the program, like graph_tensor() */
	for (uint32_t i = 0; i < weights->count; i++)
		numbers[i] = (float)weights->at[i];
	graph->class_weights = graph_tensor(graph, &tensor);
	graph->tensor[graph->class_weights]->constant = numbers;
}

uint32_t loss_logits(const struct graph *graph)
{
	const struct node *last = &graph->node[graph->nodes - 1];

	return graph->loss->output_op ? last->input[0] : last->output;
}

void loss_emit(struct plan *plan, bool training)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;
	const struct loss *loss = graph->loss;
	const uint32_t z = loss_logits(graph);
	const bool whole = graph_at(graph, graph->label)->dtype == DTYPE_I64;
	const bool by_class = training && graph->class_weights != GRAPH_NO_TENSOR;
	bool add = false;
	const uint32_t dz = training ? plan_gradient(plan, z, &add) : GRAPH_NO_TENSOR;
	const struct loss_settings settings = loss_settings_of(loss, config);

	/* `add` is false: only the first launch that stores into a gradient overwrites it, later launches
	 * add, and the loss is the first launch of the backward pass. */
	plan_emit(plan,
		  &(struct launch){
			  .kernel = plan->cpu ? loss->kernel : loss->kernel_group,
			  .groups = { rows_groups(plan, 1, graph_at(graph, z)->elements) },
			  ARGUMENTS(IN(z),
				    argument_optional(whole ? graph->label : GRAPH_NO_TENSOR, ARGUMENT_IN),
				    argument_optional(whole ? GRAPH_NO_TENSOR : graph->label, ARGUMENT_IN),
				    INT(loss->class_label), IN(graph->empty),
				    argument_optional(graph->weight, ARGUMENT_IN),
				    argument_optional(by_class ? graph->class_weights : GRAPH_NO_TENSOR,
						      ARGUMENT_IN),
				    OUT(graph->row_loss), OUT(graph->row_correct),
				    argument_optional(dz, ARGUMENT_OUT), loss_scale_factor(graph),
				    AT(ROW_WEIGHT), AT(ROWS), INT(graph_at(graph, z)->elements),
				    FLOAT(settings.smoothing), FLOAT(settings.shape), FLOAT(settings.ones),
				    FLOAT(settings.zeros), INT(config->model.top_k)),
		  });
}

/* ---- In float64 ---- */

static uint64_t largest(uint64_t count, const double *x)
{
	uint64_t best = 0;

	for (uint64_t i = 1; i < count; i++)
		best = x[i] > x[best] ? i : best;
	return best;
}

/* Returns the class that the label means; 0 or 1 with one output. */
static int64_t wanted_class(const struct loss_reference *r, const double *label)
{
	return r->label_elements == 1 ? (int64_t)rint(*label) : (int64_t)largest(r->outputs, label);
}

static void hits(const struct loss *loss, const struct loss_reference *r, uint64_t row)
{
	const double *z = r->z + row * r->outputs, *label = r->label + row * r->label_elements;
	const int64_t wanted = wanted_class(r, label);
	uint64_t above = 0;

	r->row_correct[row] = r->row_top[row] = 0;
	if (loss->kind == METRICS_NUMBERS)
		return;
	if (r->outputs == 1 && !loss->class_label) {
		r->row_correct[row] = (z[0] > 0 ? 1.0 : 0.0) == *label; /* logit 0 is probability 0.5 */
		r->row_top[row] = r->row_correct[row] > 0 || r->config->model.top_k > 1;
		return;
	}
	for (uint64_t c = 0; c < r->outputs; c++)
		above += z[c] > z[wanted];
	r->row_correct[row] = largest(r->outputs, z) == (uint64_t)wanted;
	r->row_top[row] = above < r->config->model.top_k;
}

void loss_reference(const struct loss *loss, const struct loss_reference *r)
{
	const struct config_numbers *weights = &r->config->model.class_weights;
	const struct loss_settings settings = loss_settings_of(loss, r->config);
	uint64_t valid = 0;

	for (uint64_t row = 0; row < r->rows; row++)
		valid += !r->empty || !r->empty[row];
	for (uint64_t row = 0; row < r->rows; row++) {
		const double *label = r->label + row * r->label_elements;
		const bool counts = !r->empty || !r->empty[row];
		const int64_t wanted = wanted_class(r, label);
		double weight = counts ? 1 : 0, *dz = r->dz ? r->dz + row * r->outputs : NULL;

		if (r->training && wanted >= 0 && wanted < (int64_t)weights->count)
			weight *= weights->at[wanted];
		if (r->sample)
			weight *= r->sample[row];
		r->row_loss[row] =
			weight * loss->row(r->outputs, r->z + row * r->outputs, label, &settings, dz);
		for (uint64_t i = 0; dz && i < r->outputs; i++)
			dz[i] *= weight / (double)(valid ? valid : 1);
		hits(loss, r, row);
		r->row_correct[row] *= counts;
		r->row_top[row] *= counts;
	}
}
