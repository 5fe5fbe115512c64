/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/augment.h"

struct augment_range augment_range(const struct attribute *attribute)
{
	const double a = attribute->number[0], b = attribute->number[1];

	if (attribute->items == 0)
		return (struct augment_range){ 0, 0 };
	if (attribute->items == 1)
		return a < 0 ? (struct augment_range){ a, -a } : (struct augment_range){ -a, a };
	return a < b ? (struct augment_range){ a, b } : (struct augment_range){ b, a };
}

int augment_shape(const struct graph *graph, const struct node *node, struct tensor *output,
		  struct error *err)
{
	const struct tensor *input = graph_at(graph, node->input[0]);
	char shape[SHAPE_TEXT_BYTES];

	if (input->rank != 3)
		return error_set(err, -EINVAL,
				 "found an input of shape %s, allowed: [height, width, channels]",
				 shape_text(input, shape));
	if (input->trainable)
		return error_set(
			err, -EINVAL,
			"found the input '%s', which depends on weights that training changes, "
			"allowed: a feature or a layer that depends on none, because this layer passes "
			"no gradient",
			input->name);
	return same_shape(graph, node, output, err);
}

uint32_t augment_bits(const struct op_reference *r, uint64_t row, uint32_t k)
{
	const uint32_t counter[4] = { 0, (uint32_t)(r->first_row + row), (uint32_t)r->step,
				      name_hash(r->node->name) };

	return philox(counter, r->seed).word[k] >> 8;
}

double augment_draw(const struct op_reference *r, uint64_t row, uint32_t k)
{
	return augment_bits(r, row, k) / 16777216.0;
}

double augment_value(const struct op_reference *r, uint64_t row, uint32_t k, struct augment_range range)
{
	return range.low + (range.high - range.low) * augment_draw(r, row, k);
}

void augment_export(struct export *out, const struct node *node)
{
	export_unary(out, node, EXPORT_IDENTITY);
}
