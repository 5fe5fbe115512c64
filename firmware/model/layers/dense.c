/* SPDX-License-Identifier: Apache-2.0 */
/* The layer that is a matrix product. */
#include "model/graph/random.h"
#include "model/layers/projection.h"
#include "model/layers/row.h"

/* ---- dense: y = x W + b over the last dimension, W [in, units] ---- */

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
	[DENSE_KERNEL] = { "kernel", DENSE_KERNEL_INITIALIZER, .only_if = -1,
			   .shape = { INPUT_LAST, OUTPUT_LAST } },
	[DENSE_BIAS] = { "bias", DENSE_BIAS_INITIALIZER, .only_if = DENSE_USE_BIAS,
			 .shape = { OUTPUT_LAST } },
};

static int dense_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		       struct error *err)
{
	if (graph_at(graph, node->input[0])->rank < 1)
		return error_set(err, -EINVAL, "found no dimensions of '%s', allowed: 1 .. %u",
				 graph_at(graph, node->input[0])->name, CONFIG_SHAPE_MAX);
	(void)same_shape(graph, node, output, err);
	output->shape[output->rank - 1] = (uint64_t)node->attribute[DENSE_UNITS].i;
	return 0;
}

static struct projection dense_projection(const struct plan *plan, const struct node *node)
{
	const struct tensor *output = output_of(plan, node);

	return (struct projection){ .node = node,
				    .kernel = DENSE_KERNEL,
				    .bias = DENSE_BIAS,
				    .stored = "kernel_stored",
				    .x = node->input[0],
				    .y = node->output,
				    .dy = output->gradient,
				    .steps = tensor_outer(output),
				    .in = tensor_last(input_of(plan, node, 0)),
				    .out = tensor_last(output) };
}

static void dense_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct projection p = dense_projection(plan, node);

	(void)training;
	projection_forward(plan, &p);
}

static void dense_backward(struct plan *plan, const struct node *node)
{
	const struct projection p = dense_projection(plan, node);
	bool add = false;
	uint32_t dx;

	projection_gradients(plan, &p);
	dx = plan_gradient(plan, node->input[0], &add);
	if (dx != GRAPH_NO_TENSOR)
		projection_input_gradient(plan, &p, dx, add);
}

/* The product of a dense layer in the reference. All dimensions of x and y except the last count as rows. */
struct product {
	const double *x, *w, *bias, *dy;
	uint64_t rows, in, units;
	double *y, *dx, *dw, *dbias;
};

static void product_forward(const struct product *p)
{
	for (uint64_t row = 0; row < p->rows; row++) {
		double *y = p->y + row * p->units;

		for (uint64_t j = 0; j < p->units; j++)
			y[j] = p->bias ? p->bias[j] : 0;
		for (uint64_t k = 0; k < p->in; k++)
			for (uint64_t j = 0; j < p->units; j++)
				y[j] += p->x[row * p->in + k] * p->w[k * p->units + j];
	}
}

static void product_backward(const struct product *p)
{
	for (uint64_t i = 0; p->dw && i < p->in * p->units; i++)
		p->dw[i] = 0;
	for (uint64_t j = 0; p->dbias && j < p->units; j++)
		p->dbias[j] = 0;
	for (uint64_t row = 0; row < p->rows; row++) {
		const double *x = p->x + row * p->in, *dy = p->dy + row * p->units;

		for (uint64_t j = 0; p->dbias && j < p->units; j++)
			p->dbias[j] += dy[j];
		for (uint64_t i = 0; i < p->in; i++) {
			double sum = 0;

			for (uint64_t j = 0; j < p->units; j++)
				sum += dy[j] * p->w[i * p->units + j];
			if (p->dx)
				p->dx[row * p->in + i] = sum;
			for (uint64_t j = 0; p->dw && j < p->units; j++)
				p->dw[i * p->units + j] += x[i] * dy[j];
		}
	}
}

static void dense_reference(const struct op_reference *r)
{
	const struct tensor *x = graph_at(r->graph, r->node->input[0]);
	const struct product product = { .x = r->x[0],
					 .w = r->parameter[DENSE_KERNEL],
					 .bias = r->parameter[DENSE_BIAS],
					 .dy = r->dy,
					 .rows = r->rows * tensor_outer(x),
					 .in = tensor_last(x),
					 .units = tensor_last(graph_at(r->graph, r->node->output)),
					 .y = r->y,
					 .dx = r->dx[0],
					 .dw = r->dparameter[DENSE_KERNEL],
					 .dbias = r->dparameter[DENSE_BIAS] };

	product_forward(&product);
	if (r->dy)
		product_backward(&product);
}

static void dense_export(struct export *out, const struct node *node)
{
	const char *bias = export_parameter(out, node, DENSE_BIAS);
	const struct export_inner_name product = export_inner(node, "product");
	const char *result = export_output(out, node);

	export_node(out, &(struct export_node){
				 .kind = EXPORT_MATMUL,
				 .output = bias ? product.text : result,
				 .input = { export_input(out, node, 0),
					    export_parameter(out, node, DENSE_KERNEL) },
				 .rank = 1 + export_tensor(out, node->input[0])->rank,
			 });
	if (bias)
		export_binary(out, EXPORT_ADD, product.text, bias, result);
}

const struct op op_dense = {
	.name = "dense",
	.masking = MASKING_PASSES,
	.activates = true,
	.inputs = 1,
	.attributes = COUNT(dense_attributes),
	.attribute = dense_attributes,
	.parameters = COUNT(dense_parameters),
	.parameter = dense_parameters,
	.shape = dense_shape,
	.forward = dense_forward,
	.backward = dense_backward,
	.reference = dense_reference,
	.export = dense_export,
};
