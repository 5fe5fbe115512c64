/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a picture: center_crop the centre, random_crop another part for each row while training. As in
 * Keras, random_crop takes the centre where the picture is not larger than the part in both directions; but
 * the rows of a batch have places of their own, and a smaller picture is refused instead of enlarged. */
#include "model/layers/augment.h"

#include <inttypes.h>
#include <string.h>

enum { CROP_HEIGHT, CROP_WIDTH };

static const struct attribute_spec crop_attributes[] = {
	[CROP_HEIGHT] = { "height", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			  .max = 1 << 20 },
	[CROP_WIDTH] = { "width", ATTRIBUTE_IS_INT, .required = true, .hashed = true, .min = 1,
			 .max = 1 << 20 },
};

/* What is left of height and width of the input. */
struct spare {
	uint64_t height, width;
};

static struct spare spare_of(const struct graph *graph, const struct node *node)
{
	const uint64_t *in = graph_at(graph, node->input[0])->shape,
		       *out = graph_at(graph, node->output)->shape;

	return (struct spare){ in[0] - out[0], in[1] - out[1] };
}

static int crop_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		      struct error *err)
{
	const uint64_t height = (uint64_t)node->attribute[CROP_HEIGHT].i,
		       width = (uint64_t)node->attribute[CROP_WIDTH].i;
	int r = augment_shape(graph, node, output, err);

	if (r < 0)
		return r;
	if (height > output->shape[0] || width > output->shape[1])
		return error_set(err, -EINVAL,
				 "found height %" PRIu64 " and width %" PRIu64 ", allowed: at most %" PRIu64
				 " and %" PRIu64 " of the input",
				 height, width, output->shape[0], output->shape[1]);
	output->shape[0] = height;
	output->shape[1] = width;
	return 0;
}

static void crop_emit(struct plan *plan, const struct node *node, uint32_t places)
{
	const struct tensor *input = input_of(plan, node, 0), *output = output_of(plan, node);
	const struct spare spare = spare_of(plan->graph, node);
	const uint64_t channels = tensor_last(output);

	plan_emit(plan, &(struct launch){
				.kernel = "crop",
				.groups = { per_element(output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output),
					  argument_optional(places, ARGUMENT_IN), INT(spare.height / 2),
					  INT(spare.width / 2), AT(ROWS), INT(output->shape[0]),
					  INT(output->shape[1] * channels), INT(input->shape[0]),
					  INT(input->shape[1] * channels), INT(channels)),
			});
}

static void center_crop_forward(struct plan *plan, const struct node *node, bool training)
{
	(void)training;
	crop_emit(plan, node, GRAPH_NO_TENSOR);
}

static void random_crop_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor shape = { .dtype = DTYPE_U32, .rows = true, .rank = 1, .shape = { 2 } };
	const struct spare spare = spare_of(plan->graph, node);
	uint32_t places;

	if (!training || !spare.height || !spare.width) {
		crop_emit(plan, node, GRAPH_NO_TENSOR);
		return;
	}
	places = plan_work(plan, node, "places", &shape);
	plan_emit(plan, &(struct launch){
				.kernel = "crop_places",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				ARGUMENTS(OUT(places), AT(ROWS), INT(spare.height), INT(spare.width),
					  AUGMENT_DRAWS(plan, node)),
			});
	crop_emit(plan, node, places);
}

/* Returns the draw k of a row as one of 0 .. spare. */
static uint64_t place_of(const struct op_reference *r, uint64_t row, uint32_t k, uint64_t spare)
{
	return augment_bits(r, row, k) * (spare + 1) >> 24;
}

static void crop_reference(const struct op_reference *r, bool random)
{
	const struct tensor *input = graph_at(r->graph, r->node->input[0]),
			    *output = graph_at(r->graph, r->node->output);
	const struct spare spare = spare_of(r->graph, r->node);
	const uint64_t channels = tensor_last(output), line = output->shape[1] * channels,
		       source = input->shape[1] * channels;

	for (uint64_t row = 0; row < r->rows; row++) {
		const uint64_t top = random ? place_of(r, row, 0, spare.height) : spare.height / 2,
			       left = random ? place_of(r, row, 1, spare.width) : spare.width / 2;

		for (uint64_t y = 0; y < output->shape[0]; y++)
			memcpy(r->y + row * r->outputs + y * line,
			       r->x[0] + row * r->inputs + (y + top) * source + left * channels,
			       line * sizeof(double));
	}
}

static void center_crop_reference(const struct op_reference *r)
{
	crop_reference(r, false);
}

static void random_crop_reference(const struct op_reference *r)
{
	const struct spare spare = spare_of(r->graph, r->node);

	crop_reference(r, r->training && spare.height && spare.width);
}

static void export_places(struct export *out, const char *name, const int64_t places[static 3])
{
	const uint64_t count = 3;

	export_constant(
		out, &(struct export_constant){
			     .name = name, .dtype = DTYPE_I64, .rank = 1, .shape = &count, .data = places });
}

static void crop_export(struct export *out, const struct node *node)
{
	const struct spare spare = spare_of(export_graph(out), node);
	const struct export_inner_name begin = export_inner(node, "begin"), end = export_inner(node, "end");
	const int64_t top = (int64_t)spare.height / 2, left = (int64_t)spare.width / 2;

	export_places(out, begin.text, (int64_t[]){ 0, top, left });
	export_places(out, end.text,
		      (int64_t[]){ INT32_MAX, top + node->attribute[CROP_HEIGHT].i,
				   left + node->attribute[CROP_WIDTH].i });
	export_node(out,
		    &(struct export_node){ .kind = EXPORT_SLICE,
					   .rank = 3,
					   .output = export_output(out, node),
					   .input = { export_input(out, node, 0), begin.text, end.text } });
}

const struct op op_center_crop = {
	.name = "center_crop",
	.inputs = 1,
	.attributes = COUNT(crop_attributes),
	.attribute = crop_attributes,
	.shape = crop_shape,
	.forward = center_crop_forward,
	.reference = center_crop_reference,
	.export = crop_export,
};

const struct op op_random_crop = {
	.name = "random_crop",
	.inputs = 1,
	.attributes = COUNT(crop_attributes),
	.attribute = crop_attributes,
	.shape = crop_shape,
	.forward = random_crop_forward,
	.reference = random_crop_reference,
	.export = crop_export,
};
