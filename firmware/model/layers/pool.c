/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling over images [height, width, channels] and sequences [steps, channels], each channel by itself. */
#include "model/layers/row.h"
#include "model/plan/fuse.h"
#include "model/plan/round.h"
#include "model/plan/window.h"

#include <string.h>

/* ---- What the rows share ---- */

enum { POOL_SIZE, POOL_STRIDES, POOL_PADDING };

/* The default 0 of the strides means the pool_size; a file cannot contain it, because it is below .min. */
#define POOL_ATTRIBUTES(sides)                                                                             \
	{                                                                                                  \
		[POOL_SIZE] = { "pool_size",                                                               \
				ATTRIBUTE_IS_INTS,                                                         \
				.hashed = true,                                                            \
				.fallback = 2,                                                             \
				.min = 1,                                                                  \
				.max = WINDOW_SIZE_MAX,                                                    \
				.items_min = (sides),                                                      \
				.items_max = (sides) },                                                    \
		[POOL_STRIDES] = { "strides",                                                              \
				   ATTRIBUTE_IS_INTS,                                                      \
				   .hashed = true,                                                         \
				   .fallback = 0,                                                          \
				   .min = 1,                                                               \
				   .max = WINDOW_SIZE_MAX,                                                 \
				   .items_min = (sides),                                                   \
				   .items_max = (sides) },                                                 \
		[POOL_PADDING] = { "padding", ATTRIBUTE_IS_NAME, .hashed = true, .names = window_paddings, \
				   .fallback_name = "valid" },                                             \
	}
static const struct attribute_spec pool2d_attributes[] = POOL_ATTRIBUTES(2),
				   pool1d_attributes[] = POOL_ATTRIBUTES(1);

enum { GLOBAL_KEEPDIMS };

static const struct attribute_spec global_attributes[] = {
	[GLOBAL_KEEPDIMS] = { "keepdims", ATTRIBUTE_IS_BOOL, .hashed = true },
};

extern const struct op op_max_pooling2d, op_global_max_pooling2d, op_max_pooling1d, op_global_max_pooling1d;
extern const struct op op_average_pooling1d, op_global_average_pooling1d;

static bool is_global(const struct node *node)
{
	return node->op->attribute == global_attributes;
}

static bool is_max(const struct node *node)
{
	return node->op == &op_max_pooling2d || node->op == &op_global_max_pooling2d ||
	       node->op == &op_max_pooling1d || node->op == &op_global_max_pooling1d;
}

static bool is_sequence(const struct node *node)
{
	return node->op == &op_max_pooling1d || node->op == &op_global_max_pooling1d ||
	       node->op == &op_average_pooling1d || node->op == &op_global_average_pooling1d;
}

/* Makes the window of a layer; the window of global pooling is the whole input. */
static int pool_make(const struct graph *graph, const struct node *node, struct window *ret_window,
		     struct error *err)
{
	static const int64_t once[] = { 1, 1 };
	const struct tensor *input = graph_at(graph, node->input[0]);
	const int64_t whole[] = { (int64_t)input->shape[0], (int64_t)input->shape[1] };
	const struct attribute *attribute = node->attribute;
	struct window_keys keys = { .size = whole,
				    .strides = once,
				    .dilation = once,
				    .padding = "valid",
				    .sequence = is_sequence(node) };

	if (!is_global(node)) {
		keys.size = attribute[POOL_SIZE].item;
		keys.strides = attribute[attribute[POOL_STRIDES].item[0] ? POOL_STRIDES : POOL_SIZE].item;
		keys.padding = attribute[POOL_PADDING].s;
	}
	return window_make(input, &keys, ret_window, err);
}

/* Returns the window of a node; its shape has been checked before. */
static struct window pool_of(const struct graph *graph, const struct node *node)
{
	struct window window = { 0 };
	struct error err;

	if (pool_make(graph, node, &window, &err) < 0)
		abort();
	return window;
}

static int pool_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	struct window window = { 0 };
	int r = pool_make(graph, node, &window, err);

	if (r < 0)
		return r;
	window_output(&window, input, tensor_last(input), output);
	if (is_global(node) && !node->attribute[GLOBAL_KEEPDIMS].b) {
		output->rank = 1;
		output->shape[0] = tensor_last(input);
	}
	return 0;
}

/* Returns the scratch tensor in which the forward pass stores the index of each largest number for the
 * backward pass. */
static uint32_t best_of(struct plan *plan, const struct node *node)
{
	struct tensor shape = *output_of(plan, node);

	shape.dtype = DTYPE_U32; /* 32 bits; the kernels store int32 in it */
	return plan_work(plan, node, "best", &shape);
}

/* A work-item computes so many channels of one position; kernels/pool.cl has the same numbers. */
#define CPU_CHANNELS 16u
#define GPU_CHANNELS 4u

static struct extent per_position(const struct plan *plan, int32_t height, int32_t width, uint64_t channels)
{
	const uint64_t at_once = plan->cpu ? CPU_CHANNELS : GPU_CHANNELS;

	return (struct extent){ .per_row = (uint64_t)height * (uint64_t)width * divide_up(channels, at_once),
				.tile = ELEMENT_GROUP };
}

/* Appends the launch of the mean of the steps that count. */
static void emit_masked_mean(struct plan *plan, const struct node *node)
{
	const struct tensor *input = input_of(plan, node, 0);

	plan_emit(plan, &(struct launch){
				.kernel = "masked_mean",
				.groups = { { .per_row = tensor_last(input), .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(node->input[0]), mask_argument(plan, node, 0), OUT(node->output),
					  AT(ROWS), INT(input->shape[0]), INT(tensor_last(input))),
			});
}

static void emit_masked_mean_backward(struct plan *plan, const struct node *node, struct argument dx,
				      bool add)
{
	const struct tensor *input = input_of(plan, node, 0);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "masked_mean_backward",
			  .groups = { { .per_row = tensor_last(input), .tile = ELEMENT_GROUP } },
			  ARGUMENTS(IN(output_of(plan, node)->gradient), mask_argument(plan, node, 0), dx,
				    INT(add), AT(ROWS), INT(input->shape[0]), INT(tensor_last(input))),
		  });
}

/* Whether the layer reads only the steps that count: global_average_pooling1d does. */
static bool is_masked(const struct graph *graph, const struct node *node)
{
	return node->op == &op_global_average_pooling1d &&
	       graph_at(graph, node->input[0])->mask != GRAPH_NO_TENSOR;
}

static void pool_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct window window = pool_of(plan->graph, node);
	const uint64_t channels = tensor_last(output_of(plan, node));
	const uint32_t in = window_tensor(plan, node, "window", &window);
	const struct extent positions = per_position(plan, window.out[0], window.out[1], channels);

	if (is_masked(plan->graph, node)) {
		emit_masked_mean(plan, node);
		return;
	}
	if (!is_max(node)) {
		plan_emit(plan, &(struct launch){
					.kernel = "average_pool",
					.groups = { positions },
					ARGUMENTS(IN(node->input[0]), OUT(node->output), AT(ROWS),
						  INT(channels), IN(in)),
				});
		return;
	}
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "max_pool",
			  .groups = { positions },
			  ARGUMENTS([MAX_POOL_X] = IN(node->input[0]), [MAX_POOL_Y] = OUT(node->output),
				    [MAX_POOL_BEST] = argument_optional(
					    training ? best_of(plan, node) : GRAPH_NO_TENSOR, ARGUMENT_OUT),
				    AT(ROWS), INT(channels), IN(in)),
		  });
}

static void pool_backward(struct plan *plan, const struct node *node)
{
	const struct window window = pool_of(plan->graph, node);
	const uint32_t dy = output_of(plan, node)->gradient,
		       tensor = window_tensor(plan, node, "window", &window);
	const uint64_t channels = tensor_last(output_of(plan, node));
	const struct extent groups = per_position(plan, window.in[0], window.in[1], channels);
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);
	struct argument gradient;

	if (dx == GRAPH_NO_TENSOR)
		return;
	gradient = (struct argument){ .kind = add ? ARGUMENT_INOUT : ARGUMENT_OUT, .tensor = dx };
	if (is_masked(plan->graph, node))
		emit_masked_mean_backward(plan, node, gradient, add);
	else if (is_max(node))
		plan_emit(plan,
			  &(struct launch){ .kernel = "max_pool_backward",
					    .groups = { groups },
					    ARGUMENTS([MAX_POOL_BACKWARD_DY] = IN(dy),
						      [MAX_POOL_BACKWARD_BEST] = IN(best_of(plan, node)),
						      [MAX_POOL_BACKWARD_DX] = gradient,
						      [MAX_POOL_BACKWARD_ADD] = INT(add), AT(ROWS),
						      INT(channels), IN(tensor)) });
	else
		plan_emit(plan, &(struct launch){ .kernel = "average_pool_backward",
						  .groups = { groups },
						  ARGUMENTS(IN(dy), gradient, INT(add), AT(ROWS),
							    INT(channels), IN(tensor)) });
}

/* ---- Reference ---- */

/* Identifies a number of y by its position and channel in a row. `window` says which pixels of the image it
 * covers. */
struct position {
	const struct window *window;
	uint64_t channels, position, channel;
};

/* Tap `t` of the window covers one number of a row of x: sets *ret_at to its index. Returns false if the tap
 * is in the padding. */
static bool covers(const struct position *p, uint64_t t, uint64_t *ret_at)
{
	const bool within = window_pixel(p->window, p->position, t, ret_at);

	*ret_at = *ret_at * p->channels + p->channel;
	return within;
}

static void reference_max(const struct position *p, const double *x, double *y, const double *dy, double *dx)
{
	uint64_t best = UINT64_MAX, at;

	for (uint64_t t = 0; t < window_taps(p->window); t++)
		if (covers(p, t, &at) && (best == UINT64_MAX || x[at] > x[best]))
			best = at;
	*y = x[best];
	if (dx)
		dx[best] += *dy;
}

static void reference_average(const struct position *p, const double *x, double *y, const double *dy,
			      double *dx)
{
	uint64_t count = 0, at;

	*y = 0;
	for (uint64_t t = 0; t < window_taps(p->window); t++)
		if (covers(p, t, &at)) {
			*y += x[at];
			count++;
		}
	*y /= (double)count;
	for (uint64_t t = 0; dx && t < window_taps(p->window); t++)
		if (covers(p, t, &at))
			dx[at] += *dy / (double)count;
}

/* The mean of the steps of a row whose id in the mask is not 0; 0 without any. */
static void masked_mean_reference(const struct op_reference *r)
{
	const uint64_t channels = r->outputs, steps = r->inputs / channels;

	for (uint64_t row = 0; row < r->rows; row++) {
		const double *mask = r->mask[0] + row * steps;
		uint64_t count = 0;

		for (uint64_t t = 0; t < steps; t++)
			count += mask[t] != 0;
		for (uint64_t c = 0; c < channels; c++) {
			double *y = &r->y[row * channels + c];

			*y = 0;
			for (uint64_t t = 0; t < steps; t++) {
				const uint64_t at = (row * steps + t) * channels + c;
				const double share = mask[t] != 0 ? 1.0 / (double)count : 0;

				*y += r->x[0][at] * share;
				if (r->dy && r->dx[0])
					r->dx[0][at] = r->dy[row * channels + c] * share;
			}
		}
	}
}

static void pool_reference(const struct op_reference *r)
{
	const struct window window = pool_of(r->graph, r->node);
	const uint64_t channels = r->outputs / window_positions(&window);
	double *dx = r->dy ? r->dx[0] : NULL;

	if (is_masked(r->graph, r->node)) {
		masked_mean_reference(r);
		return;
	}
	for (uint64_t i = 0; dx && i < r->rows * r->inputs; i++)
		dx[i] = 0;
	for (uint64_t i = 0; i < r->rows * r->outputs; i++) {
		const struct position position = { .window = &window,
						   .channels = channels,
						   .position = i % r->outputs / channels,
						   .channel = i % channels };
		const uint64_t row = i / r->outputs * r->inputs;

		(is_max(r->node) ? reference_max : reference_average)(
			&position, r->x[0] + row, r->y + i, r->dy ? r->dy + i : NULL, dx ? dx + row : NULL);
	}
}

/* Writes the pooling of images. */
static void export_pool(struct export *out, const struct node *node, const char *image, const char *output)
{
	const struct window window = pool_of(export_graph(out), node);

	export_node(out,
		    &(struct export_node){ .kind = is_max(node) ? EXPORT_MAX_POOLING : EXPORT_AVERAGE_POOLING,
					   .output = output,
					   .input = { image },
					   .window = &window,
					   .same = !strcmp(node->attribute[POOL_PADDING].s, "same") });
}

/* Exports mean(x * mask) / max(mean(mask), 1 / (2 * steps)): a row without a step that counts gets 0. */
static void masked_mean_export(struct export *out, const struct node *node)
{
	const double steps = (double)export_tensor(out, node->input[0])->shape[0];
	const struct tensor column = { .rank = 2, .shape = { (uint64_t)steps, 1 } };
	const bool keeps = node->attribute[GLOBAL_KEEPDIMS].b;
	const struct export_inner_name flat = export_mask(out, node, 0, "mask"),
				       mask = export_reshaped(out, node, flat.text, &column, "counts"),
				       kept = export_both(out, node, EXPORT_MULTIPLY,
							  export_input(out, node, 0), mask.text, "kept"),
				       sum = export_inner(node, "kept_mean"),
				       count = export_inner(node, "counts_mean");
	struct export_node mean = { .kind = EXPORT_MEAN,
				    .output = sum.text,
				    .input = { kept.text },
				    .axes = { 1 },
				    .axis_count = 1,
				    .keep_axes = keeps };
	struct export_inner_name least;

	export_node(out, &mean);
	mean.output = count.text;
	mean.input[0] = mask.text;
	export_node(out, &mean);
	least = export_with(out, node, EXPORT_MAXIMUM, count.text, 0.5 / steps, "counts_least");
	export_binary(out, EXPORT_DIVIDE, sum.text, least.text, export_output(out, node));
}

static void global_export(struct export *out, const struct node *node)
{
	if (is_masked(export_graph(out), node)) {
		masked_mean_export(out, node);
		return;
	}
	export_node(out, &(struct export_node){ .kind = is_max(node) ? EXPORT_MAX : EXPORT_MEAN,
						.output = export_output(out, node),
						.input = { export_input(out, node, 0) },
						.axes = { 1, 2 },
						.axis_count = is_sequence(node) ? 1 : 2,
						.keep_axes = node->attribute[GLOBAL_KEEPDIMS].b });
}

static void pool_export(struct export *out, const struct node *node)
{
	const struct tensor *input = export_tensor(out, node->input[0]);
	const struct tensor line = { .rank = 3, .shape = { 1, input->shape[0], input->shape[1] } };
	struct export_inner_name image, pooled;

	if (!is_sequence(node)) {
		export_pool(out, node, export_input(out, node, 0), export_output(out, node));
		return;
	}
	image = export_reshaped(out, node, export_input(out, node, 0), &line, "image");
	pooled = export_inner(node, "line");
	export_pool(out, node, image.text, pooled.text);
	export_reshape(out, pooled.text, export_tensor(out, node->output), export_output(out, node));
}

/* ---- The rows ---- */

#define POOL(op_name, table, export_of_row)  \
	const struct op op_##op_name = {     \
		.name = #op_name,            \
		.inputs = 1,                 \
		.masking = MASKING_ENDS,     \
		.attributes = COUNT(table),  \
		.attribute = table,          \
		.shape = pool_shape,         \
		.forward = pool_forward,     \
		.backward = pool_backward,   \
		.reference = pool_reference, \
		.export = export_of_row,     \
	}

POOL(max_pooling2d, pool2d_attributes, pool_export);
POOL(average_pooling2d, pool2d_attributes, pool_export);
POOL(global_max_pooling2d, global_attributes, global_export);
POOL(global_average_pooling2d, global_attributes, global_export);
POOL(max_pooling1d, pool1d_attributes, pool_export);
POOL(average_pooling1d, pool1d_attributes, pool_export);
POOL(global_max_pooling1d, global_attributes, global_export);
POOL(global_average_pooling1d, global_attributes, global_export);
