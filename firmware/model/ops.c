/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ops.h"

#include "model/gemm.h"
#include "model/plan.h"
#include "model/random.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COUNT(table) (uint32_t)(sizeof(table) / sizeof(*(table)))

/* Work-groups of one item an element of [rows, elements of a row]. */
static struct extent per_element(const struct tensor *tensor)
{
	return (struct extent){ .per_row = tensor->elements, .tile = ELEMENT_GROUP };
}

static const struct tensor *output_of(const struct plan *plan, const struct node *node)
{
	return graph_at(plan->graph, node->output);
}

static int same_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	(void)err;
	output->rank = input->rank;
	memcpy(output->shape, input->shape, sizeof(output->shape));
	return 0;
}

/* Classes, features: ops that work on the last of one dimension. */
static int one_dimension(const struct graph *graph, const struct node *node, struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);

	if (input->rank == 1)
		return 0;
	return error_set(err, -EINVAL, "found %u dimensions of '%s', allowed: 1", input->rank, input->name);
}

/* ---- dense: y = x W + b, W [in, units] ---- */

enum { DENSE_UNITS, DENSE_USE_BIAS, DENSE_KERNEL_INITIALIZER, DENSE_BIAS_INITIALIZER };
enum { DENSE_KERNEL, DENSE_BIAS };

static const struct attribute_spec dense_attributes[] = {
	[DENSE_UNITS] = { "units", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			  .max = 1 << 20 },
	[DENSE_USE_BIAS] = { "use_bias", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },
	[DENSE_KERNEL_INITIALIZER] = { "kernel_initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,
				       .fallback_name = "glorot_uniform" },
	[DENSE_BIAS_INITIALIZER] = { "bias_initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,
				     .fallback_name = "zeros" },
};

static const struct parameter_spec dense_parameters[] = {
	[DENSE_KERNEL] = { "kernel", DENSE_KERNEL_INITIALIZER, -1, { DIM_INPUT, DIM_UNITS } },
	[DENSE_BIAS] = { "bias", DENSE_BIAS_INITIALIZER, DENSE_USE_BIAS, { DIM_UNITS } },
};

static int dense_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		       struct error *err)
{
	output->rank = 1;
	output->shape[0] = (uint64_t)node->attribute[DENSE_UNITS].i;
	return one_dimension(graph, node, err);
}

static void dense_forward(struct plan *plan, const struct node *node, bool training)
{
	const uint64_t in = graph_at(plan->graph, node->input[0])->elements,
		       units = output_of(plan, node)->elements;
	const struct gemm gemm = { .a = node->input[0],
				   .b = node->parameter[DENSE_KERNEL],
				   .c = node->output,
				   .m = GEMM_ROWS,
				   .n = units,
				   .k = in };

	(void)training;
	gemm_emit(plan, &gemm);
	if (node->parameter[DENSE_BIAS] == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "bias_add",
				.groups = { per_element(output_of(plan, node)) },
				.arguments = 4,
				.argument = { INOUT(node->output), IN(node->parameter[DENSE_BIAS]), AT(ROWS),
					      INT(units) },
			});
}

/* dx (+)= dy W^T, through a transposed copy of W: then it is the same GEMM. */
static void dense_backward_input(struct plan *plan, const struct node *node, uint32_t dy, uint64_t in,
				 uint64_t units)
{
	const uint32_t kernel = node->parameter[DENSE_KERNEL];
	struct tensor transposed = {
		.role = ROLE_WORK, .arena = ARENA_WORK, .rank = 2, .shape = { units, in }
	};
	struct gemm gemm = { .a = dy, .m = GEMM_ROWS, .n = in, .k = units };

	gemm.c = plan_gradient(plan, node->input[0], &gemm.add);
	if (gemm.c == GRAPH_NO_TENSOR)
		return;
	(void)snprintf(transposed.name, sizeof(transposed.name), "%s/transposed", node->name);
	gemm.b = graph_tensor(plan->graph, &transposed);
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "transpose",
			  .groups = { { .constant = in, .tile = ELEMENT_GROUP }, { .constant = units } },
			  .arguments = 4,
			  .argument = { IN(kernel), OUT(gemm.b), INT(in), INT(units) },
		  });
	gemm_emit(plan, &gemm);
}

static void dense_backward(struct plan *plan, const struct node *node)
{
	const struct graph *graph = plan->graph;
	const uint64_t in = graph_at(graph, node->input[0])->elements,
		       units = output_of(plan, node)->elements;
	const uint32_t dy = output_of(plan, node)->gradient, bias = node->parameter[DENSE_BIAS];
	const struct gemm gemm = { .a = node->input[0],
				   .b = dy,
				   .c = graph_at(graph, node->parameter[DENSE_KERNEL])->gradient,
				   .m = in,
				   .n = units,
				   .k = GEMM_ROWS,
				   .a_transposed = true };

	gemm_emit(plan, &gemm);
	if (bias != GRAPH_NO_TENSOR)
		plan_emit(plan, &(struct launch){
					.kernel = "column_sums",
					.groups = { { .constant = units, .tile = ELEMENT_GROUP } },
					.arguments = 4,
					.argument = { IN(dy), OUT(graph_at(graph, bias)->gradient), AT(ROWS),
						      INT(units) },
				});
	dense_backward_input(plan, node, dy, in, units);
}

static void dense_reference_backward(const struct op_reference *r)
{
	const double *w = r->parameter[DENSE_KERNEL];

	for (uint64_t i = 0; i < r->inputs; i++)
		for (uint64_t j = 0; j < r->outputs; j++) {
			double sum = 0;

			for (uint64_t row = 0; row < r->rows; row++)
				sum += r->x[row * r->inputs + i] * r->dy[row * r->outputs + j];
			r->dparameter[DENSE_KERNEL][i * r->outputs + j] = sum;
		}
	for (uint64_t j = 0; r->dparameter[DENSE_BIAS] && j < r->outputs; j++) {
		r->dparameter[DENSE_BIAS][j] = 0;
		for (uint64_t row = 0; row < r->rows; row++)
			r->dparameter[DENSE_BIAS][j] += r->dy[row * r->outputs + j];
	}
	for (uint64_t row = 0; r->dx && row < r->rows; row++)
		for (uint64_t i = 0; i < r->inputs; i++) {
			double sum = 0;

			for (uint64_t j = 0; j < r->outputs; j++)
				sum += r->dy[row * r->outputs + j] * w[i * r->outputs + j];
			r->dx[row * r->inputs + i] = sum;
		}
}

static void dense_reference(const struct op_reference *r)
{
	const double *w = r->parameter[DENSE_KERNEL], *bias = r->parameter[DENSE_BIAS];

	for (uint64_t row = 0; row < r->rows; row++) {
		double *y = r->y + row * r->outputs;

		for (uint64_t j = 0; j < r->outputs; j++)
			y[j] = bias ? bias[j] : 0;
		for (uint64_t k = 0; k < r->inputs; k++)
			for (uint64_t j = 0; j < r->outputs; j++)
				y[j] += r->x[row * r->inputs + k] * w[k * r->outputs + j];
	}
	if (r->dy)
		dense_reference_backward(r);
}

/* ---- relu: y = x < 0 ? 0 : x ---- */

static void relu_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);

	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "relu",
				.groups = { per_element(output) },
				.arguments = 4,
				.argument = { IN(node->input[0]), OUT(node->output), AT(ROWS),
					      INT(output->elements) },
			});
}

static void relu_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "relu_backward",
				.groups = { per_element(output) },
				.arguments = 7,
				.argument = { IN(output->gradient), IN(node->output), OUT(dx), FLOAT(1),
					      INT(add), AT(ROWS), INT(output->elements) },
			});
}

static void relu_reference(const struct op_reference *r)
{
	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		r->y[i] = r->x[i] < 0 ? 0 : r->x[i];
		if (r->dy && r->dx)
			r->dx[i] = r->y[i] > 0 ? r->dy[i] : 0;
	}
}

/* ---- dropout: y = kept ? x / (1 - rate) : 0 while training, x otherwise ---- */

enum { DROPOUT_RATE };

static const struct attribute_spec dropout_attributes[] = {
	[DROPOUT_RATE] = { "rate", ATTRIBUTE_IS_FLOAT, .required = true, .min = 0, .max = 1,
			   .max_open = true },
};

static void dropout_emit(struct plan *plan, const struct node *node, uint32_t from, uint32_t to, bool add)
{
	const double rate = node->attribute[DROPOUT_RATE].f;
	const uint64_t seed = plan->graph->config->run.seed;
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "dropout",
				.groups = { per_element(output) },
				.arguments = 12,
				.argument = { IN(from), OUT(to), INT(add), AT(ROWS), INT(output->elements),
					      FLOAT(1 / (1 - rate)), UINT(dropout_threshold(rate)),
					      UINT(name_hash(node->name)), AT(STEP), AT(FIRST_ROW),
					      UINT((uint32_t)seed), UINT((uint32_t)(seed >> 32)) },
			});
}

static void dropout_forward(struct plan *plan, const struct node *node, bool training)
{
	if (training)
		dropout_emit(plan, node, node->input[0], node->output, false);
	else
		plan_alias(plan, node->output, node->input[0]);
}

static void dropout_backward(struct plan *plan, const struct node *node)
{
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx != GRAPH_NO_TENSOR)
		dropout_emit(plan, node, output_of(plan, node)->gradient, dx, add);
}

static void dropout_reference(const struct op_reference *r)
{
	const double rate = r->node->attribute[DROPOUT_RATE].f;
	const uint32_t layer = name_hash(r->node->name), threshold = dropout_threshold(rate);

	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t c = 0; c < r->inputs; c++) {
			const uint32_t counter[4] = { (uint32_t)(c / 64 * 16 + c % 16),
						      (uint32_t)(r->first_row + row), (uint32_t)r->step,
						      layer };
			const bool keeps = philox(counter, r->seed).word[c / 16 % 4] >= threshold;
			const double factor = !r->training ? 1 : keeps ? 1 / (1 - rate) : 0;
			const uint64_t i = row * r->inputs + c;

			r->y[i] = r->x[i] * factor;
			if (r->dy && r->dx)
				r->dx[i] = r->dy[i] * factor;
		}
}

/* ---- softmax: p = exp(x) / sum exp(x) over the classes ---- */

static int softmax_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			 struct error *err)
{
	(void)same_shape(graph, node, output, err);
	return one_dimension(graph, node, err);
}

static void softmax_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	plan_emit(plan, &(struct launch){
				.kernel = "softmax",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				.arguments = 4,
				.argument = { IN(node->input[0]), OUT(node->output), AT(ROWS),
					      INT(output_of(plan, node)->elements) },
			});
}

static void softmax_backward(struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	if (dx == GRAPH_NO_TENSOR)
		return;
	plan_emit(plan, &(struct launch){
				.kernel = "softmax_backward",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				.arguments = 6,
				.argument = { IN(output->gradient), IN(node->output), OUT(dx), INT(add),
					      AT(ROWS), INT(output->elements) },
			});
}

static void softmax_reference(const struct op_reference *r)
{
	for (uint64_t row = 0; row < r->rows; row++) {
		const double *x = r->x + row * r->inputs;
		double *p = r->y + row * r->inputs, most = x[0], sum = 0, dot = 0;

		for (uint64_t c = 1; c < r->inputs; c++)
			most = x[c] > most ? x[c] : most;
		for (uint64_t c = 0; c < r->inputs; c++)
			sum += p[c] = exp(x[c] - most);
		for (uint64_t c = 0; c < r->inputs; c++)
			p[c] /= sum;
		if (!r->dy || !r->dx)
			continue;
		for (uint64_t c = 0; c < r->inputs; c++)
			dot += r->dy[row * r->inputs + c] * p[c];
		for (uint64_t c = 0; c < r->inputs; c++)
			r->dx[row * r->inputs + c] = p[c] * (r->dy[row * r->inputs + c] - dot);
	}
}

/* ---- The table ---- */

static const struct op ops[] = {
	{
		.name = "dense",
		.inputs = 1,
		.attributes = COUNT(dense_attributes),
		.attribute = dense_attributes,
		.parameters = COUNT(dense_parameters),
		.parameter = dense_parameters,
		.shape = dense_shape,
		.forward = dense_forward,
		.backward = dense_backward,
		.reference = dense_reference,
	},
	{
		.name = "relu",
		.inputs = 1,
		.shape = same_shape,
		.forward = relu_forward,
		.backward = relu_backward,
		.reference = relu_reference,
	},
	{
		.name = "dropout",
		.inputs = 1,
		.attributes = COUNT(dropout_attributes),
		.attribute = dropout_attributes,
		.shape = same_shape,
		.forward = dropout_forward,
		.backward = dropout_backward,
		.reference = dropout_reference,
	},
	{
		.name = "softmax",
		.inputs = 1,
		.shape = softmax_shape,
		.forward = softmax_forward,
		.backward = softmax_backward,
		.reference = softmax_reference,
	},
};

const struct op *op_find(const char *name)
{
	for (uint32_t i = 0; i < COUNT(ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

const char *op_names(void)
{
	return "dense, relu, dropout, softmax";
}
