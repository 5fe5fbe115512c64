/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole model in float64, computed node by node through the reference() of each op, loss and optimizer.
 * Also shared by the model's tests and benches: a device, and a configuration written in C. Each program
 * uses a part of this file.
 */
#pragma once

#include "core/base/paths.h"
#include "drivers/gpu/gpu.h"
#include "model/build.h"
#include "model/layers/emit.h"
#include "model/layers/table.h"
#include "model/layout.h"
#include "model/learn/loss_scale.h"
#include "model/learn/losses.h"
#include "model/learn/optimizers.h"
#include "model/learn/update.h"
#include "model/plan/chain.h"
#include "model/plan/fuse.h"
#include "model/plan/kernel_table.h"
#include "model/plan/kernels.h"
#include "model/state.h"
#include "tests/short_numbers.h"

#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED_OK __attribute__((unused))

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

/* ---- Device and configuration ---- */

/* A scratch root, and compiled kernels shared by all test programs, because compiling takes most of the
 * time. */
UNUSED_OK static struct gpu *open_device(void)
{
	static char root[] = "/tmp/kiln-model-XXXXXX";
	char cache[PATH_MAX];
	struct error err = { 0 };
	struct gpu *gpu = NULL;

	if (!mkdtemp(root) || setenv("KILN_ROOT", root, 1) < 0)
		abort();
	if (path_make("build/kernels", NULL) == 0 && realpath("build/kernels", cache))
		(void)setenv("POCL_CACHE_DIR", cache, 0);
	if (gpu_open(&GPU_ANY, &gpu, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return gpu;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

UNUSED_OK static void close_device(struct gpu *gpu)
{
	const char *root = getenv("KILN_ROOT");

	gpu_close(gpu);
	if (root && !strncmp(root, "/tmp/kiln-model-", 16))
		(void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#define INT_ATTRIBUTE(k, v)                                                              \
	{                                                                                \
		.key = (k), .type = ATTRIBUTE_INT, .i = (v), .f = (double)(v), .line = 7 \
	}
#define FLOAT_ATTRIBUTE(k, v)                                            \
	{                                                                \
		.key = (k), .type = ATTRIBUTE_FLOAT, .f = (v), .line = 7 \
	}
#define BOOL_ATTRIBUTE(k, v)                                            \
	{                                                               \
		.key = (k), .type = ATTRIBUTE_BOOL, .i = (v), .line = 7 \
	}
#define TEXT_ATTRIBUTE(k, v)                                              \
	{                                                                 \
		.key = (k), .type = ATTRIBUTE_STRING, .s = (v), .line = 7 \
	}
#define INTS_ATTRIBUTE(k, n, ...)                                                                    \
	{                                                                                            \
		.key = (k), .type = ATTRIBUTE_INTS, .items = (n), .item = { __VA_ARGS__ }, .line = 7 \
	}
#define FLOATS_ATTRIBUTE(k, n, ...)                                                                      \
	{                                                                                                \
		.key = (k), .type = ATTRIBUTE_FLOATS, .items = (n), .number = { __VA_ARGS__ }, .line = 7 \
	}
/* A layer of any op: OP("conv2d", INPUTS("a", "b"), ATTRIBUTES(2, INT_ATTRIBUTE(...), ...)). */
#define OP(o, ...)                                              \
	{                                                       \
		.op = (o), .name = "", .line = 6, ##__VA_ARGS__ \
	}
#define NAMED(o, n, ...)                                         \
	{                                                        \
		.op = (o), .name = (n), .line = 6, ##__VA_ARGS__ \
	}
#define INPUTS_OF(n, ...)  .inputs = (n), .input = { __VA_ARGS__ }
#define ATTRIBUTES(n, ...) .attributes = (n), .attribute = { __VA_ARGS__ }
#define DENSE(n)                                                                                        \
	{                                                                                               \
		.op = "dense", .name = "", .attributes = 1, .attribute = { INT_ATTRIBUTE("units", n) }, \
		.line = 6                                                                               \
	}
#define RELU                                        \
	{                                           \
		.op = "relu", .name = "", .line = 6 \
	}
#define DROPOUT(r)                                                                                         \
	{                                                                                                  \
		.op = "dropout", .name = "", .attributes = 1, .attribute = { FLOAT_ATTRIBUTE("rate", r) }, \
		.line = 6                                                                                  \
	}
#define SOFTMAX                                        \
	{                                              \
		.op = "softmax", .name = "", .line = 6 \
	}

/* Returns a configuration: input float32 [inputs], label int64 [classes], Adam with Keras's defaults. */
UNUSED_OK static struct config model_config(struct config_layer *layer, uint32_t layers, uint64_t inputs,
					    uint64_t classes, uint64_t batch_rows)
{
	struct config config = { .file = "k.conf", .features = 2 };

	config.model.bert = (struct config_bert){ 768, 12, 12, 3072, 30522, 512, 1e-12, 0.1, 0.1 };
	config.run.seed = 44;
	config.run.batch_rows = batch_rows;
	config.feature[0] = (struct config_feature){ .name = "sentence", .rank = 1, .shape = { inputs } };
	config.feature[1] = (struct config_feature){
		.name = "label", .dtype = CONFIG_INT64, .rank = 1, .shape = { classes }
	};
	config.model.input = "sentence";
	config.model.label = "label";
	config.model.loss = "categorical_crossentropy";
	config.model.huber_delta = 1;
	config.model.focal_gamma = 2;
	config.model.focal_alpha = 0.25;
	config.model.layers = layers;
	config.model.layer = layer;
	config.optimizer.name = "adam";
	config.optimizer.learning_rate = 1e-3;
	config.optimizer.beta_1 = 0.9;
	config.optimizer.epsilon = 1e-7;
	config.optimizer.rho = 0.9;
	config.optimizer.initial_accumulator_value = 0.1;
	config.optimizer.power = 1;
	config.optimizer.t_mul = 2;
	config.optimizer.m_mul = 1;
	config.optimizer.schedule = "constant";
	config.optimizer.gradient_accumulation_steps = 1;
	config.optimizer.ema_momentum = 0.99;
	config.reduce_on_plateau.factor = 0.1;
	config.reduce_on_plateau.patience = 10;
	config.reduce_on_plateau.min_delta = 1e-4;
	config.model.sample_weight = "";
	return config;
}

/* Returns the next number of a fixed sequence in [-1, 1). */
UNUSED_OK static double noise(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(int32_t)(uint32_t)(*state >> 32) / 2147483648.0;
}

/* Rows whose label depends on the row, so that the model can learn something. */
UNUSED_OK static void fill_batch(uint64_t seed, uint64_t rows, uint64_t inputs, uint64_t classes,
				 float *input, int64_t *label)
{
	uint64_t state = seed * 2654435761u + 1;

	for (uint64_t r = 0; r < rows; r++) {
		double sum = 0;

		for (uint64_t i = 0; i < inputs; i++) {
			input[r * inputs + i] = (float)noise(&state);
			sum += (double)input[r * inputs + i] * ((double)(i % 7) - 3);
		}
		for (uint64_t c = 0; c < classes; c++)
			label[r * classes + c] = 0;
		label[r * classes + (sum > 0 ? 1 : 0) % classes] = 1;
	}
}

/* ---- The model in float64 ---- */

struct reference {
	const struct graph *graph;
	double **value, **gradient; /* arrays by index of the tensor */
	double **slot[GRAPH_SLOTS_MAX], **accumulator, **average;
	double loss_sum, correct_sum, top_sum; /* sums of the last batch, the penalty included */
};

static double *zeros(uint64_t count)
{
	double *numbers = calloc(count + 1, sizeof(*numbers));

	if (!numbers)
		abort();
	return numbers;
}

UNUSED_OK static void reference_open(struct reference *reference, const struct graph *graph)
{
	double ***const tables[] = { &reference->value,   &reference->gradient,    &reference->slot[0],
				     &reference->slot[1], &reference->accumulator, &reference->average };

	*reference = (struct reference){ .graph = graph };
	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		*tables[t] = calloc(graph->tensors, sizeof(void *));
		for (uint32_t i = 0; i < graph->tensors; i++)
			(*tables[t])[i] = zeros(graph_at(graph, i)->elements *
						(graph_at(graph, i)->rows ? graph->batch_rows : 1));
	}
	for (uint32_t i = 0; graph->optimizer->first && i < graph->tensors; i++)
		for (uint64_t e = 0; e < graph_at(graph, i)->elements; e++)
			reference->slot[0][i][e] = graph->optimizer->first(graph->config);
}

UNUSED_OK static void reference_close(struct reference *reference)
{
	double **const tables[] = { reference->value,   reference->gradient,    reference->slot[0],
				    reference->slot[1], reference->accumulator, reference->average };

	for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
		for (uint32_t i = 0; i < reference->graph->tensors; i++)
			free(tables[t][i]);
		free(tables[t]);
	}
}

/* Starts from the model's own parameters. */
UNUSED_OK static void reference_load(struct reference *reference, const struct model_tensor *tensors,
				     uint32_t count)
{
	const struct graph *graph = reference->graph;

	for (uint32_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < graph->tensors; i++) {
			const struct tensor *tensor = graph_at(graph, i);

			if ((tensor->role != ROLE_PARAMETER && tensor->role != ROLE_STATE) ||
			    strcmp(tensor->name, tensors[t].name) != 0)
				continue;
			for (uint64_t e = 0; e < tensor->elements; e++)
				reference->value[i][e] = (double)((const float *)tensors[t].data)[e];
		}
}

/* Dropout, batch statistics and gradients are as in training. Gradients of frozen parameters are not
 * computed. */
static struct op_reference call_of(const struct reference *reference, const struct node *node,
				   const struct model_batch *batch, bool training, uint64_t step)
{
	const struct graph *graph = reference->graph;
	struct op_reference call = { .graph = graph,
				     .node = node,
				     .rows = batch->rows,
				     .inputs = graph_at(graph, node->input[0])->elements,
				     .outputs = graph_at(graph, node->output)->elements,
				     .y = reference->value[node->output],
				     .empty = batch->empty,
				     .training = training,
				     .seed = graph->config->run.seed,
				     .step = step,
				     .first_row = batch->first_row };

	for (uint32_t i = 0; i < node->inputs; i++) {
		const uint32_t mask = graph_at(graph, node->input[i])->mask;

		call.x[i] = reference->value[node->input[i]];
		call.mask[i] = mask == GRAPH_NO_TENSOR ? NULL : reference->value[mask];
	}
	if (node->op->ragged)
		call.splits = reference->value[graph_at(graph, node->input[0])->splits];
	for (uint32_t i = 0; i < GRAPH_PARAMETERS_MAX; i++) {
		if (node->parameter[i] == GRAPH_NO_TENSOR)
			continue;
		call.parameter[i] = reference->value[node->parameter[i]];
		if (graph_at(graph, node->parameter[i])->trainable)
			call.dparameter[i] = reference->gradient[node->parameter[i]];
	}
	return call;
}

static uint64_t numbers_of(const struct graph *graph, uint32_t tensor, uint64_t rows)
{
	return graph_at(graph, tensor)->elements * (graph_at(graph, tensor)->rows ? rows : 1);
}

/* Gradients of all consumers of a tensor are added. */
static void reference_backward(struct reference *reference, const struct node *node,
			       const struct model_batch *batch, uint64_t step)
{
	const struct graph *graph = reference->graph;
	struct op_reference call = call_of(reference, node, batch, true, step);

	call.dy = reference->gradient[node->output];
	for (uint32_t i = 0; i < node->inputs; i++)
		if (graph_at(graph, node->input[i])->trainable)
			call.dx[i] = zeros(numbers_of(graph, node->input[i], batch->rows));
	node->op->reference(&call);
	for (uint32_t i = 0; i < node->inputs; i++) {
		for (uint64_t e = 0; call.dx[i] && e < numbers_of(graph, node->input[i], batch->rows); e++)
			reference->gradient[node->input[i]][e] += call.dx[i][e];
		free(call.dx[i]);
	}
}

static double number_of(enum dtype dtype, const void *numbers, uint64_t i)
{
	switch (dtype) {
	case DTYPE_I64:
		return (double)((const int64_t *)numbers)[i];
	case DTYPE_U8:
		return ((const uint8_t *)numbers)[i];
	default:
		return (double)((const float *)numbers)[i];
	}
}

static void reference_feed(struct reference *reference, const struct model_batch *batch)
{
	const struct graph *graph = reference->graph;

	for (uint32_t i = 0; i < graph->inputs; i++) {
		const uint32_t input = graph->input[i];

		for (uint64_t e = 0; e < numbers_of(graph, input, batch->rows); e++)
			reference->value[input][e] =
				number_of(graph_at(graph, input)->dtype, batch->input[i], e);
	}
	for (uint32_t i = 0; i < graph->tensors; i++)
		if (graph_at(graph, i)->role == ROLE_ACTIVATION)
			memset(reference->gradient[i], 0,
			       numbers_of(graph, i, graph->batch_rows) * sizeof(double));
}

static bool is_learnt(const struct reference *reference, uint32_t tensor)
{
	const struct tensor *what = graph_at(reference->graph, tensor);

	return what->role == ROLE_PARAMETER && what->trainable;
}

static double reference_penalty(const struct reference *reference)
{
	double sum = 0;

	for (uint32_t i = 0; i < reference->graph->tensors; i++) {
		const struct tensor *tensor = graph_at(reference->graph, i);

		for (uint64_t e = 0; is_learnt(reference, i) && e < tensor->elements; e++)
			sum += tensor->l1 * fabs(reference->value[i][e]) +
			       tensor->l2 * reference->value[i][e] * reference->value[i][e];
	}
	return sum;
}

static void reference_loss(struct reference *reference, const struct model_batch *batch, bool training,
			   double *row_loss, double *row_correct)
{
	const struct graph *graph = reference->graph;
	const struct node *last = &graph->node[graph->nodes - 1];
	const struct tensor *label = graph_at(graph, graph->label);
	const uint32_t z = graph->loss->output_op ? last->input[0] : last->output;
	const uint64_t labels = batch->rows * label->elements;
	double *wanted = zeros(labels), *sample = zeros(batch->rows), *row_top = zeros(batch->rows);
	const struct loss_reference call = {
		.rows = batch->rows,
		.outputs = graph_at(graph, z)->elements,
		.label_elements = label->elements,
		.z = reference->value[z],
		.label = wanted,
		.empty = batch->empty,
		.sample = batch->weight ? sample : NULL,
		.config = graph->config,
		.training = training,
		.row_loss = row_loss,
		.row_correct = row_correct,
		.row_top = row_top,
		.dz = training ? reference->gradient[z] : NULL,
	};

	for (uint64_t i = 0; i < labels; i++)
		wanted[i] = label->dtype == DTYPE_I64 ? (double)((const int64_t *)batch->label)[i]
						      : (double)((const float *)batch->label)[i];
	for (uint64_t i = 0; batch->weight && i < batch->rows; i++)
		sample[i] = (double)batch->weight[i];
	loss_reference(graph->loss, &call);
	reference->top_sum = 0;
	for (uint64_t i = 0; i < batch->rows; i++)
		reference->top_sum += row_top[i];
	free(wanted);
	free(sample);
	free(row_top);
}

/* Computes forward and loss; with `training` also every gradient. */
UNUSED_OK static void reference_pass(struct reference *reference, const struct model_batch *batch,
				     bool training, uint64_t step)
{
	const struct graph *graph = reference->graph;
	double *row_loss = zeros(batch->rows), *row_correct = zeros(batch->rows);

	reference_feed(reference, batch);
	for (uint32_t i = 0; i < graph->nodes; i++) {
		const struct op_reference call = call_of(reference, &graph->node[i], batch, training, step);

		graph->node[i].op->reference(&call);
	}
	reference_loss(reference, batch, training, row_loss, row_correct);
	reference->loss_sum = reference->correct_sum = 0;
	for (uint64_t r = 0; r < batch->rows; r++) {
		reference->loss_sum += row_loss[r];
		reference->correct_sum += row_correct[r];
	}
	reference->loss_sum += batch->valid_rows * reference_penalty(reference);
	free(row_loss);
	free(row_correct);
	for (uint32_t i = graph->nodes - (graph->loss->output_op ? 1 : 0); training && i-- > 0;)
		if (graph_at(graph, graph->node[i].output)->trainable)
			reference_backward(reference, &graph->node[i], batch, step);
}

/* Applies penalties, accumulation and clipvalue to a gradient, as gradients.h describes. Returns the squared
 * norm. */
static double reference_prepare(struct reference *reference, uint32_t tensor, bool update)
{
	const struct config *config = reference->graph->config;
	const struct tensor *what = graph_at(reference->graph, tensor);
	const double limit = config->optimizer.clipvalue,
		     share = 1 / (double)config->optimizer.gradient_accumulation_steps;
	double square = 0;

	for (uint64_t e = 0; e < what->elements; e++) {
		double *g = &reference->gradient[tensor][e], *sum = &reference->accumulator[tensor][e];
		const double w = reference->value[tensor][e];

		*sum += *g + what->l1 * (w > 0 ? 1 : w < 0 ? -1 : 0) + 2 * what->l2 * w;
		if (!update)
			continue;
		*g = *sum * share;
		*sum = 0;
		*g = limit > 0 ? fmax(fmin(*g, limit), -limit) : *g;
		square += *g * *g;
	}
	return square;
}

static void reference_scale(struct reference *reference, uint32_t tensor, double norm, double most)
{
	for (uint64_t e = 0; norm > most && e < graph_at(reference->graph, tensor)->elements; e++)
		reference->gradient[tensor][e] *= most / norm;
}

/* Applies the changes of step `step` + 1 to gradients and parameters. */
UNUSED_OK static void reference_update(struct reference *reference, uint64_t step)
{
	const struct graph *graph = reference->graph;
	const struct config *config = graph->config;
	const uint64_t batches = config->optimizer.gradient_accumulation_steps, updates = step / batches,
		       every = config->optimizer.ema_overwrite_frequency;
	const double rate = optimizer_learning_rate(config, graph->optimizer, step),
		     decay = optimizer_weight_decay(config, graph->optimizer),
		     momentum = updates ? config->optimizer.ema_momentum : 0;
	const bool update = (step + 1) % batches == 0;
	double square = 0;

	for (uint32_t i = 0; i < graph->tensors; i++) {
		if (!is_learnt(reference, i))
			continue;
		const double own = reference_prepare(reference, i, update);

		square += own;
		if (config->optimizer.clipnorm > 0)
			reference_scale(reference, i, sqrt(own), config->optimizer.clipnorm);
	}
	for (uint32_t i = 0; i < graph->tensors; i++) {
		const uint64_t elements = graph_at(graph, i)->elements;
		double *w = reference->value[i], *average = reference->average[i];

		if (!is_learnt(reference, i))
			continue;
		if (update && config->optimizer.global_clipnorm > 0)
			reference_scale(reference, i, sqrt(square), config->optimizer.global_clipnorm);
		for (uint64_t e = 0; update && e < elements; e++)
			w[e] -= optimizer_excluded(config, graph_at(graph, i)->name) ? 0
										     : w[e] * rate * decay;
		if (update)
			graph->optimizer->reference(config, rate, updates + 1, elements,
						    reference->gradient[i], w, reference->slot[0][i],
						    reference->slot[1][i]);
		for (uint64_t e = 0; config->optimizer.use_ema && e < elements; e++) {
			average[e] = momentum * average[e] + (1 - momentum) * w[e];
			w[e] = every && (updates + 1) % every == 0 ? average[e] : w[e];
		}
	}
}

/* Makes one training step; `step` counts the steps before it. */
UNUSED_OK static void reference_train(struct reference *reference, const struct model_batch *batch,
				      uint64_t step)
{
	reference_pass(reference, batch, true, step);
	reference_update(reference, step);
}

/* ---- A plan without a model ---- */

/* A graph on the device with a plan that the test makes: harness_open -> emit into harness.plan ->
 * harness_bind -> harness_put* -> harness_run -> harness_get*. */
struct harness {
	struct gpu *gpu;
	struct graph graph;
	struct plan plan;
	struct gpu_buffer *arena[ARENA_MAX], **buffer;
	bool shared; /* set before harness_bind(): the places of plan/lifetime.h */
};

static void harness_must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "%s\n", err->text);
	abort();
}

/* With layers in the config: the graph of these layers, for training. Without layers: an empty graph to
 * which tensors can be added. `cpu`: use the kernels for CPU devices if the device is one; other devices
 * do not have all of these. */
UNUSED_OK static void harness_open(struct harness *harness, struct gpu *gpu, const struct config *config,
				   bool cpu)
{
	struct error err = { 0 };

	*harness = (struct harness){ .gpu = gpu };
	if (config->model.layers)
		harness_must(graph_build(config, true, &harness->graph, &err), &err);
	else
		harness->graph = (struct graph){ .config = config, .batch_rows = config->run.batch_rows };
	plan_init(&harness->plan, &harness->graph, cpu && gpu_is_cpu(gpu));
}

UNUSED_OK static uint32_t harness_tensor(struct harness *harness, enum dtype dtype, uint64_t elements)
{
	const struct tensor tensor = {
		.dtype = dtype, .role = ROLE_WORK, .arena = ARENA_WORK, .rank = 1, .shape = { elements }
	};

	return graph_tensor(&harness->graph, &tensor);
}

UNUSED_OK static void harness_put(struct harness *harness, uint32_t tensor, const void *data)
{
	struct error err = { 0 };

	harness_must(gpu_write(harness->gpu, harness->buffer[tensor], 0, data,
			       graph_at(&harness->graph, tensor)->bytes, true, &err),
		     &err);
}

static void harness_buffers(struct harness *harness)
{
	struct graph *graph = &harness->graph;
	struct error err = { 0 };

	if (harness->shared)
		layout_work(graph, (const struct plan *const[]){ &harness->plan }, 1);
	else
		layout_work(graph, NULL, 0);
	for (enum arena arena = ARENA_STATE; arena < ARENA_MAX; arena++)
		if (graph->arena_bytes[arena])
			harness_must(gpu_buffer_create(harness->gpu, graph->arena_bytes[arena],
						       &harness->arena[arena], &err),
				     &err);
	harness->buffer = calloc(graph->tensors, sizeof(void *));
	for (uint32_t i = 0; i < graph->tensors; i++)
		if (graph_at(graph, i)->arena != ARENA_BATCH && graph_at(graph, i)->offset != UINT64_MAX)
			harness_must(gpu_buffer_sub(harness->arena[graph_at(graph, i)->arena],
						    graph_at(graph, i)->offset,
						    layout_buffer_bytes(graph_at(graph, i)),
						    &harness->buffer[i], &err),
				     &err);
	for (uint32_t i = 0; i < graph->tensors; i++)
		if (graph_at(graph, i)->constant)
			harness_put(harness, i, graph_at(graph, i)->constant);
}

/* Puts chains into the plan. Call it before harness_bind(), which then needs a program of this plan. */
UNUSED_OK static void harness_chain(struct harness *harness)
{
	struct error err = { 0 };

	harness_buffers(harness);
	harness_must(chain_plan(&harness->plan, harness->gpu, harness->arena, &err), &err);
}

UNUSED_OK static void harness_bind(struct harness *harness, struct gpu_program *program)
{
	struct error err = { 0 };

	if (!harness->buffer)
		harness_buffers(harness);
	harness_must(plan_bind(&harness->plan, program, harness->buffer, &err), &err);
}

UNUSED_OK static void harness_get(struct harness *harness, uint32_t tensor, void *data)
{
	struct error err = { 0 };

	harness_must(gpu_read(harness->gpu, harness->buffer[tensor], 0, data,
			      graph_at(&harness->graph, tensor)->bytes, NULL, &err),
		     &err);
}

/* Reads a tensor of any float type, as float. */
UNUSED_OK static void harness_get_float(struct harness *harness, uint32_t tensor, float *out)
{
	const struct tensor *what = graph_at(&harness->graph, tensor);
	const uint64_t count = what->bytes / dtype_bytes(what->dtype);
	uint16_t *stored;

	if (what->dtype == DTYPE_F32) {
		harness_get(harness, tensor, out);
		return;
	}
	stored = calloc(count, sizeof(*stored));
	if (!stored)
		abort();
	harness_get(harness, tensor, stored);
	for (uint64_t i = 0; i < count; i++)
		out[i] = short_float(what->dtype, stored[i]);
	free(stored);
}

UNUSED_OK static void harness_run(struct harness *harness, const struct plan_values *values)
{
	struct error err = { 0 };

	harness_must(plan_run(&harness->plan, harness->gpu, values, &err), &err);
	harness_must(gpu_finish(harness->gpu, &err), &err);
}

UNUSED_OK static void harness_close(struct harness *harness)
{
	plan_done(&harness->plan);
	for (uint32_t i = 0; harness->buffer && i < harness->graph.tensors; i++)
		gpu_buffer_free(harness->buffer[i]);
	for (uint32_t i = 0; i < ARENA_MAX; i++)
		gpu_buffer_free(harness->arena[i]);
	free(harness->buffer);
	graph_done(&harness->graph);
}
