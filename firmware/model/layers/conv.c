/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions over images [height, width, channels], and over sequences [steps, channels]. */
#include "model/plan/conv.h"
#include "model/graph/random.h"
#include "model/layers/row.h"

#include <string.h>

/* Indices of the attributes of all rows. */
enum {
	CONV_KERNEL_SIZE,
	CONV_STRIDES,
	CONV_PADDING,
	CONV_DILATION_RATE,
	CONV_USE_BIAS,
	CONV_KERNEL_INITIALIZER,
	CONV_BIAS_INITIALIZER,
	CONV_FILTERS,
	CONV_DEPTH_MULTIPLIER = CONV_FILTERS,
};
enum { CONV_KERNEL, CONV_BIAS };

#define CONV_ATTRIBUTES(sides, kernel_initializer)                                                          \
	[CONV_KERNEL_SIZE] = { "kernel_size",                                                               \
			       ATTRIBUTE_IS_INTS,                                                           \
			       .required = true,                                                            \
			       .hashed = true,                                                              \
			       .min = 1,                                                                    \
			       .max = WINDOW_SIZE_MAX,                                                      \
			       .items_min = (sides),                                                        \
			       .items_max = (sides) },                                                      \
	[CONV_STRIDES] = { "strides", ATTRIBUTE_IS_INTS,      .hashed = true,       .fallback = 1,          \
			   .min = 1,  .max = WINDOW_SIZE_MAX, .items_min = (sides), .items_max = (sides) }, \
	[CONV_PADDING] = { "padding", ATTRIBUTE_IS_NAME, .hashed = true, .names = window_paddings,          \
			   .fallback_name = "valid" },                                                      \
	[CONV_DILATION_RATE] = { "dilation_rate",                                                           \
				 ATTRIBUTE_IS_INTS,                                                         \
				 .hashed = true,                                                            \
				 .fallback = 1,                                                             \
				 .min = 1,                                                                  \
				 .max = WINDOW_SIZE_MAX,                                                    \
				 .items_min = (sides),                                                      \
				 .items_max = (sides) },                                                    \
	[CONV_USE_BIAS] = { "use_bias", ATTRIBUTE_IS_BOOL, .hashed = true, .fallback = 1 },                 \
	[CONV_KERNEL_INITIALIZER] = { kernel_initializer, ATTRIBUTE_IS_NAME, .names = initializer_names,    \
				      .fallback_name = "glorot_uniform" },                                  \
	[CONV_BIAS_INITIALIZER] = { "bias_initializer", ATTRIBUTE_IS_NAME, .names = initializer_names,      \
				    .fallback_name = "zeros" }

#define CONV_FILTERS_ATTRIBUTE                                                 \
	[CONV_FILTERS] = { "filters",      ATTRIBUTE_IS_INT, .required = true, \
			   .hashed = true, .min = 1,         .max = 1 << 20 }

static const struct attribute_spec conv2d_attributes[] = {
	CONV_ATTRIBUTES(2, "kernel_initializer"),
	CONV_FILTERS_ATTRIBUTE,
};
static const struct attribute_spec conv1d_attributes[] = {
	CONV_ATTRIBUTES(1, "kernel_initializer"),
	CONV_FILTERS_ATTRIBUTE,
};

#define CONV_MULTIPLIER_ATTRIBUTE                                                         \
	[CONV_DEPTH_MULTIPLIER] = { "depth_multiplier", ATTRIBUTE_IS_INT, .hashed = true, \
				    .fallback = 1,      .min = 1,         .max = 1 << 10 }

static const struct attribute_spec depthwise_attributes[] = {
	CONV_ATTRIBUTES(2, "depthwise_initializer"),
	CONV_MULTIPLIER_ATTRIBUTE,
};
static const struct attribute_spec depthwise1d_attributes[] = {
	CONV_ATTRIBUTES(1, "depthwise_initializer"),
	CONV_MULTIPLIER_ATTRIBUTE,
};

/* The parameters of a row; the arguments after `own` are the first dimensions of its kernel. */
#define CONV_PARAMETERS(own, ...)                                                        \
	{                                                                                \
		[CONV_KERNEL] = { "kernel", CONV_KERNEL_INITIALIZER, .only_if = -1,      \
				  .shape = { __VA_ARGS__, INPUT_LAST, own } },           \
		[CONV_BIAS] = { "bias", CONV_BIAS_INITIALIZER, .only_if = CONV_USE_BIAS, \
				.shape = { OUTPUT_LAST } },                              \
	}
#define CONV_SIZE(side) ATTRIBUTE_ITEM(CONV_KERNEL_SIZE, side)

static const struct parameter_spec conv2d_parameters[] =
	CONV_PARAMETERS(OUTPUT_LAST, CONV_SIZE(0), CONV_SIZE(1));
static const struct parameter_spec conv1d_parameters[] = CONV_PARAMETERS(OUTPUT_LAST, CONV_SIZE(0));
static const struct parameter_spec depthwise_parameters[] =
	CONV_PARAMETERS(ATTRIBUTE_ITEM(CONV_DEPTH_MULTIPLIER, 0), CONV_SIZE(0), CONV_SIZE(1));
static const struct parameter_spec depthwise1d_parameters[] =
	CONV_PARAMETERS(ATTRIBUTE_ITEM(CONV_DEPTH_MULTIPLIER, 0), CONV_SIZE(0));

extern const struct op op_conv1d, op_depthwise_conv1d, op_depthwise_conv2d;

static bool is_depthwise(const struct node *node)
{
	return node->op == &op_depthwise_conv2d || node->op == &op_depthwise_conv1d;
}

static bool is_sequence(const struct node *node)
{
	return node->op == &op_conv1d || node->op == &op_depthwise_conv1d;
}

static int conv_make(const struct graph *graph, const struct node *node, struct conv *ret_conv,
		     struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	const struct window_keys keys = { .size = node->attribute[CONV_KERNEL_SIZE].item,
					  .strides = node->attribute[CONV_STRIDES].item,
					  .dilation = node->attribute[CONV_DILATION_RATE].item,
					  .padding = node->attribute[CONV_PADDING].s,
					  .sequence = is_sequence(node) };
	int r = window_make(input, &keys, &ret_conv->window, err);

	if (r < 0)
		return r;
	ret_conv->node = node;
	ret_conv->channels = tensor_last(input);
	ret_conv->filters = (uint64_t)node->attribute[CONV_FILTERS].i;
	if (is_depthwise(node))
		ret_conv->filters *= ret_conv->channels;
	return 0;
}

/* Returns the convolution of a node; its shape has been checked before. */
static struct conv conv_of(const struct graph *graph, const struct node *node)
{
	struct conv conv = { 0 };
	struct error err;

	if (conv_make(graph, node, &conv, &err) < 0)
		abort();
	return conv;
}

static int conv_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	struct conv conv = { 0 };
	int r = conv_make(graph, node, &conv, err);

	if (r < 0)
		return r;
	window_output(&conv.window, graph_at(graph, node->input[0]), conv.filters, output);
	return 0;
}

static void conv_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct conv conv = conv_of(plan->graph, node);

	(void)training;
	if (is_depthwise(node))
		conv_emit_depthwise(plan, &conv, node->input[0], node->parameter[CONV_KERNEL], node->output);
	else
		conv_emit(plan, &conv, node->input[0], node->parameter[CONV_KERNEL], node->output);
	if (node->parameter[CONV_BIAS] != GRAPH_NO_TENSOR)
		emit_bias(plan, node, node->parameter[CONV_BIAS]);
}

static void conv_backward(struct plan *plan, const struct node *node)
{
	const struct conv conv = conv_of(plan->graph, node);
	const uint32_t dy = output_of(plan, node)->gradient, kernel = node->parameter[CONV_KERNEL],
		       dkernel = parameter_gradient(plan, node, CONV_KERNEL);
	bool add = false;
	uint32_t dx;

	if (dkernel != GRAPH_NO_TENSOR)
		(is_depthwise(node) ? conv_emit_depthwise_kernel_gradient : conv_emit_kernel_gradient)(
			plan, &conv, node->input[0], dy, dkernel, parameter_gradient(plan, node, CONV_BIAS));
	dx = plan_gradient(plan, node->input[0], &add);
	if (dx != GRAPH_NO_TENSOR)
		(is_depthwise(node) ? conv_emit_depthwise_input_gradient
				    : conv_emit_input_gradient)(plan, &conv, dy, kernel, dx, add);
}

/* ---- Reference: every pair of an input and an output number that a tap joins ---- */

/* Adds the contribution of one tap of the kernel between the channels of x from x0 on and the filters of y
 * from y0 on: y += x * kernel, or, if there is a dy, adds to dx and the gradient of the kernel. */
static void join(const struct op_reference *r, const struct conv *conv, uint64_t x0, uint64_t y0,
		 uint64_t tap)
{
	const bool depthwise = is_depthwise(r->node);
	const uint64_t multiplier = conv->filters / conv->channels;

	for (uint64_t f = 0; f < conv->filters; f++)
		for (uint64_t c = depthwise ? f / multiplier : 0;
		     c < (depthwise ? f / multiplier + 1 : conv->channels); c++) {
			const uint64_t k = depthwise ? tap * conv->filters + f
						     : (tap * conv->channels + c) * conv->filters + f;

			if (!r->dy) {
				r->y[y0 + f] += r->x[0][x0 + c] * r->parameter[CONV_KERNEL][k];
				continue;
			}
			if (r->dx[0])
				r->dx[0][x0 + c] += r->dy[y0 + f] * r->parameter[CONV_KERNEL][k];
			if (r->dparameter[CONV_KERNEL])
				r->dparameter[CONV_KERNEL][k] += r->dy[y0 + f] * r->x[0][x0 + c];
		}
}

static void zero(double *numbers, uint64_t count)
{
	for (uint64_t i = 0; numbers && i < count; i++)
		numbers[i] = 0;
}

static void reference_bias(const struct op_reference *r, const struct conv *conv)
{
	for (uint64_t i = 0; i < r->rows * r->outputs; i++)
		if (!r->dy)
			r->y[i] = r->parameter[CONV_BIAS] ? r->parameter[CONV_BIAS][i % conv->filters] : 0;
		else if (r->dparameter[CONV_BIAS])
			r->dparameter[CONV_BIAS][i % conv->filters] += r->dy[i];
}

static void conv_reference(const struct op_reference *r)
{
	const struct conv conv = conv_of(r->graph, r->node);
	const uint64_t taps = window_taps(&conv.window), positions = window_positions(&conv.window);
	uint64_t at;

	if (r->dy) {
		zero(r->dx[0], r->rows * r->inputs);
		zero(r->dparameter[CONV_BIAS], conv.filters);
		zero(r->dparameter[CONV_KERNEL],
		     taps * conv.filters * (is_depthwise(r->node) ? 1 : conv.channels));
	}
	reference_bias(r, &conv);
	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t position = 0; position < positions; position++)
			for (uint64_t tap = 0; tap < taps; tap++)
				if (window_pixel(&conv.window, position, tap, &at))
					join(r, &conv, row * r->inputs + at * conv.channels,
					     row * r->outputs + position * conv.filters, tap);
}

/* Writes the convolution of an image; the sums have no bias yet. */
static void export_sums(struct export *out, const struct node *node, const char *image, const char *kernel,
			const char *sums)
{
	const struct conv conv = conv_of(export_graph(out), node);

	export_node(out,
		    &(struct export_node){
			    .kind = is_depthwise(node) ? EXPORT_DEPTHWISE_CONVOLUTION : EXPORT_CONVOLUTION,
			    .output = sums,
			    .input = { image, kernel },
			    .window = &conv.window,
			    .same = !strcmp(node->attribute[CONV_PADDING].s, "same"),
			    .channels = conv.channels,
			    .filters = conv.filters,
		    });
}

/* Writes the same of a sequence, as an image of one line. */
static void export_sequence_sums(struct export *out, const struct node *node, const char *sums)
{
	const struct tensor *input = export_tensor(out, node->input[0]),
			    *output = export_tensor(out, node->output),
			    *kernel = export_tensor(out, node->parameter[CONV_KERNEL]);
	const struct tensor line = { .rank = 3, .shape = { 1, input->shape[0], input->shape[1] } };
	const struct export_inner_name image = export_reshaped(out, node, export_input(out, node, 0), &line,
							       "image"),
				       lines = export_inner(node, "line_sums"),
				       taps = export_inner(node, "line_kernel");

	/* The kernel gets a first dimension of 1, which stands where other values have their rows. */
	export_reshape(out, kernel->name, kernel, taps.text);
	export_sums(out, node, image.text, taps.text, lines.text);
	export_reshape(out, lines.text, output, sums);
}

static void conv_export(struct export *out, const struct node *node)
{
	const char *bias = export_parameter(out, node, CONV_BIAS);
	const struct export_inner_name inner = export_inner(node, "sums");
	const char *sums = bias ? inner.text : export_output(out, node);

	if (is_sequence(node))
		export_sequence_sums(out, node, sums);
	else
		export_sums(out, node, export_input(out, node, 0), export_parameter(out, node, CONV_KERNEL),
			    sums);
	if (bias)
		export_binary(out, EXPORT_ADD, sums, bias, export_output(out, node));
}

/* ---- The rows ---- */

/* Kernels: [size..., channels, filters]; of the depthwise ones [size..., channels, depth_multiplier]. */

#define CONV_ROW(row, name_of)                                                                             \
	{                                                                                                  \
		.name = #name_of, .activates = true, .inputs = 1, .masking = MASKING_ENDS,                 \
		.attributes = COUNT(row##_attributes), .attribute = row##_attributes,                      \
		.parameters = COUNT(row##_parameters), .parameter = row##_parameters, .shape = conv_shape, \
		.forward = conv_forward, .backward = conv_backward, .reference = conv_reference,           \
		.export = conv_export,                                                                     \
	}
const struct op op_conv2d = CONV_ROW(conv2d, conv2d);
const struct op op_conv1d = CONV_ROW(conv1d, conv1d);
const struct op op_depthwise_conv2d = CONV_ROW(depthwise, depthwise_conv2d);
const struct op op_depthwise_conv1d = CONV_ROW(depthwise1d, depthwise_conv1d);
