/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preprocess_input: pixels of 0 .. 255, RGB, as the networks of ImageNet expect them; `mode` as in Keras's
 * preprocess_input() and in two more programs:
 *   caffe  the channels in the order BGR, minus their means in ImageNet
 *   tf     x / 127.5 - 1
 *   torch  (x / 255 - mean) / deviation, the statistics of ImageNet
 *   lite   (x - 127) / 128, as EfficientNet Lite does
 */
#include "model/layers/row.h"

#include <string.h>

#define CHANNELS 3u

enum { MODE };

static const char *const modes[] = { "caffe", "tf", "torch", "lite", NULL };

static const struct attribute_spec preprocess_attributes[] = {
	[MODE] = { "mode", ATTRIBUTE_IS_NAME, .hashed = true, .names = modes, .fallback_name = "caffe" },
};

/* y[c] = x[swaps ? 2 - c : c] * scale[c] + offset[c] */
struct preprocess {
	bool swaps;
	double scale[CHANNELS], offset[CHANNELS];
};

static const struct preprocess preprocesses[] = {
	{ true, { 1, 1, 1 }, { -103.939, -116.779, -123.68 } },
	{ false, { 1 / 127.5, 1 / 127.5, 1 / 127.5 }, { -1, -1, -1 } },
	{ false,
	  { 1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225) },
	  { -0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225 } },
	{ false, { 1 / 128.0, 1 / 128.0, 1 / 128.0 }, { -127 / 128.0, -127 / 128.0, -127 / 128.0 } },
};
_Static_assert(sizeof(preprocesses) / sizeof(*preprocesses) + 1 == sizeof(modes) / sizeof(*modes),
	       "a row for each mode");

static const struct preprocess *preprocess_of(const struct node *node)
{
	uint32_t i = 0;

	while (strcmp(modes[i], node->attribute[MODE].s) != 0)
		i++;
	return &preprocesses[i];
}

static int preprocess_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			    struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	char text[SHAPE_TEXT_BYTES];

	if (tensor_last(input) != CHANNELS)
		return error_set(err, -EINVAL, "found '%s' of shape %s, allowed: 3 channels", input->name,
				 shape_text(input, text));
	return same_shape(graph, node, output, err);
}

static void preprocess_emit(struct plan *plan, const struct node *node, uint32_t from, uint32_t to, bool add,
			    const struct preprocess *how)
{
	const struct tensor *output = output_of(plan, node);

	plan_emit(plan, &(struct launch){
				.kernel = "scale_channels",
				.groups = { per_element(output) },
				ARGUMENTS(IN(from), OUT(to), INT(add), AT(ROWS), INT(output->elements),
					  INT(how->swaps), FLOAT(how->scale[0]), FLOAT(how->scale[1]),
					  FLOAT(how->scale[2]), FLOAT(how->offset[0]), FLOAT(how->offset[1]),
					  FLOAT(how->offset[2])),
			});
}

static void preprocess_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	preprocess_emit(plan, node, node->input[0], node->output, false, preprocess_of(node));
}

static void preprocess_backward(struct plan *plan, const struct node *node)
{
	const struct preprocess *how = preprocess_of(node);
	struct preprocess back = { .swaps = how->swaps };
	bool add = false;
	const uint32_t dx = plan_gradient(plan, node->input[0], &add);

	for (uint32_t c = 0; c < CHANNELS; c++)
		back.scale[c] = how->scale[how->swaps ? CHANNELS - 1 - c : c];
	if (dx != GRAPH_NO_TENSOR)
		preprocess_emit(plan, node, output_of(plan, node)->gradient, dx, add, &back);
}

static void preprocess_reference(const struct op_reference *r)
{
	const struct preprocess *how = preprocess_of(r->node);

	for (uint64_t i = 0; i < r->rows * r->inputs; i++) {
		const uint64_t c = i % CHANNELS, from = how->swaps ? i - c + CHANNELS - 1 - c : i;

		r->y[i] = r->x[0][from] * (double)(float)how->scale[c] + (double)(float)how->offset[c];
		if (r->dy && r->dx[0])
			r->dx[0][from] = r->dy[i] * (double)(float)how->scale[c];
	}
}

/* Exports x * M + offset, where the matrix M scales the channels, and swaps them. */
static void preprocess_export(struct export *out, const struct node *node)
{
	static const uint64_t square[] = { CHANNELS, CHANNELS };
	const struct preprocess *how = preprocess_of(node);
	const struct export_inner_name matrix = export_inner(node, "matrix"),
				       mixed = export_inner(node, "mixed"),
				       offset = export_inner(node, "offset");
	float numbers[CHANNELS][CHANNELS] = { { 0 } }, offsets[CHANNELS];

	for (uint32_t c = 0; c < CHANNELS; c++) {
		numbers[how->swaps ? CHANNELS - 1 - c : c][c] = (float)how->scale[c];
		offsets[c] = (float)how->offset[c];
	}
	export_constant(out, &(struct export_constant){ .name = matrix.text,
							.dtype = DTYPE_F32,
							.rank = 2,
							.shape = square,
							.data = numbers });
	export_constant(out, &(struct export_constant){ .name = offset.text,
							.dtype = DTYPE_F32,
							.rank = 1,
							.shape = square,
							.data = offsets });
	export_node(out, &(struct export_node){ .kind = EXPORT_MATMUL,
						.output = mixed.text,
						.input = { export_input(out, node, 0), matrix.text },
						.rank = export_tensor(out, node->output)->rank + 1 });
	export_binary(out, EXPORT_ADD, mixed.text, offset.text, export_output(out, node));
}

const struct op op_preprocess_input = {
	.name = "preprocess_input",
	.inputs = 1,
	.attributes = COUNT(preprocess_attributes),
	.attribute = preprocess_attributes,
	.shape = preprocess_shape,
	.forward = preprocess_forward,
	.backward = preprocess_backward,
	.reference = preprocess_reference,
	.export = preprocess_export,
};
