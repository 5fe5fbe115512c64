/* SPDX-License-Identifier: Apache-2.0 */
/* Brightness and contrast, clipped to value_range: y = x * scale + offset, by row and channel. */
#include "model/layers/augment.h"

#include <math.h>

enum { ADJUST_FACTOR, ADJUST_VALUE_RANGE };

static const double bytes[] = { 0, 255 };

#define VALUE_RANGE                                                                                    \
	{                                                                                              \
		"value_range", ATTRIBUTE_IS_FLOATS, .fallback_list = bytes, .min = -1e30, .max = 1e30, \
						    .items_min = 2, .items_max = 2                     \
	}
#define FACTOR(least)                                                                                      \
	{                                                                                                  \
		"factor", ATTRIBUTE_IS_FLOATS, .required = true, .min = (least), .max = 1, .items_min = 1, \
					       .items_max = 2                                              \
	}

static const struct attribute_spec contrast_attributes[] = {
	[ADJUST_FACTOR] = FACTOR(0), [ADJUST_VALUE_RANGE] = VALUE_RANGE
};
static const struct attribute_spec brightness_attributes[] = {
	[ADJUST_FACTOR] = FACTOR(-1), [ADJUST_VALUE_RANGE] = VALUE_RANGE
};

static struct augment_range value_range(const struct node *node)
{
	return augment_range(&node->attribute[ADJUST_VALUE_RANGE]);
}

static int adjust_shape(const struct graph *graph, const struct node *node, struct tensor *output,
			struct error *err)
{
	const struct augment_range values = value_range(node);

	if (!(values.low < values.high))
		return error_set(err, -EINVAL, "found value_range [ %g, %g ], allowed: two different numbers",
				 values.low, values.high);
	return augment_shape(graph, node, output, err);
}

/* Returns the range of the factor by which the contrast changes. */
static struct augment_range contrast_range(const struct node *node)
{
	const struct augment_range range = augment_range(&node->attribute[ADJUST_FACTOR]);

	if (node->attribute[ADJUST_FACTOR].items == 1)
		return (struct augment_range){ 1 - range.high, 1 + range.high };
	return (struct augment_range){ 1 - range.low, 1 + range.high };
}

/* Returns the range of the number that is added. */
static struct augment_range brightness_range(const struct node *node)
{
	const struct augment_range range = augment_range(&node->attribute[ADJUST_FACTOR]),
				   values = value_range(node);
	const double size = values.high - values.low;

	return (struct augment_range){ range.low * size, range.high * size };
}

/* ---- Forward ---- */

/* Numbers of a channel of a row are summed in this number of parts: kernels/augment.cl. */
#define PARTS ELEMENT_GROUP

static uint32_t table_of(struct plan *plan, const struct node *node, const char *name, uint64_t per_channel)
{
	const struct tensor shape = { .rows = true,
				      .rank = 2,
				      .shape = { per_channel, tensor_last(output_of(plan, node)) } };

	return plan_work(plan, node, name, &shape);
}

static void adjust_emit(struct plan *plan, const struct node *node, uint32_t table)
{
	const struct tensor *output = output_of(plan, node);
	const struct augment_range values = value_range(node);

	plan_emit(plan, &(struct launch){
				.kernel = "adjust",
				.groups = { per_element(output) },
				ARGUMENTS(IN(node->input[0]), OUT(node->output), IN(table), AT(ROWS),
					  INT(tensor_outer(output)), INT(tensor_last(output)),
					  FLOAT(values.low), FLOAT(values.high)),
			});
}

static void contrast_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct tensor *output = output_of(plan, node);
	const struct augment_range range = contrast_range(node);
	const uint64_t pixels = tensor_outer(output), channels = tensor_last(output);
	uint32_t sums, table;

	if (!training) {
		plan_alias(plan, node->output, node->input[0]);
		return;
	}
	sums = table_of(plan, node, "sums", PARTS);
	table = table_of(plan, node, "table", 2);
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "contrast_sums",
			  .groups = { { .per_row = 1 } },
			  ARGUMENTS(IN(node->input[0]), OUT(sums), AT(ROWS), INT(pixels), INT(channels)),
		  });
	plan_emit(plan, &(struct launch){
				.kernel = "contrast_table",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				ARGUMENTS(IN(sums), OUT(table), AT(ROWS), INT(pixels), INT(channels),
					  AUGMENT_RANGE(range), AUGMENT_DRAWS(plan, node)),
			});
	adjust_emit(plan, node, table);
}

static void brightness_forward(struct plan *plan, const struct node *node, bool training)
{
	const struct augment_range range = brightness_range(node);
	uint32_t table;

	if (!training) {
		plan_alias(plan, node->output, node->input[0]);
		return;
	}
	table = table_of(plan, node, "table", 2);
	plan_emit(plan, &(struct launch){
				.kernel = "brightness_table",
				.groups = { { .per_row = 1, .tile = ROW_GROUP } },
				ARGUMENTS(OUT(table), AT(ROWS), INT(tensor_last(output_of(plan, node))),
					  AUGMENT_RANGE(range), AUGMENT_DRAWS(plan, node)),
			});
	adjust_emit(plan, node, table);
}

/* ---- References ---- */

static double mean_of(const struct op_reference *r, uint64_t row, uint64_t channel, uint64_t channels)
{
	double sum = 0;

	for (uint64_t i = channel; i < r->inputs; i += channels)
		sum += r->x[0][row * r->inputs + i];
	return sum * (double)channels / (double)r->inputs;
}

static void adjust_row(const struct op_reference *r, uint64_t row, uint64_t channel, double scale,
		       double offset)
{
	const uint64_t channels = tensor_last(graph_at(r->graph, r->node->output));
	const struct augment_range values = value_range(r->node);

	for (uint64_t i = row * r->inputs + channel; i < (row + 1) * r->inputs; i += channels)
		r->y[i] = r->training ? fmin(fmax(r->x[0][i] * scale + offset, values.low), values.high)
				      : r->x[0][i];
}

static void contrast_reference(const struct op_reference *r)
{
	const uint64_t channels = tensor_last(graph_at(r->graph, r->node->output));

	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t c = 0; c < channels; c++) {
			const double factor = augment_value(r, row, 0, contrast_range(r->node));

			adjust_row(r, row, c, factor, mean_of(r, row, c, channels) * (1 - factor));
		}
}

static void brightness_reference(const struct op_reference *r)
{
	const uint64_t channels = tensor_last(graph_at(r->graph, r->node->output));

	for (uint64_t row = 0; row < r->rows; row++)
		for (uint64_t c = 0; c < channels; c++)
			adjust_row(r, row, c, 1, augment_value(r, row, 0, brightness_range(r->node)));
}

const struct op op_random_contrast = {
	.name = "random_contrast",
	.inputs = 1,
	.training_only = true,
	.attributes = COUNT(contrast_attributes),
	.attribute = contrast_attributes,
	.shape = adjust_shape,
	.forward = contrast_forward,
	.reference = contrast_reference,
	.export = augment_export,
};

const struct op op_random_brightness = {
	.name = "random_brightness",
	.inputs = 1,
	.training_only = true,
	.attributes = COUNT(brightness_attributes),
	.attribute = brightness_attributes,
	.shape = adjust_shape,
	.forward = brightness_forward,
	.reference = brightness_reference,
	.export = augment_export,
};
