/* SPDX-License-Identifier: Apache-2.0 */
#include "model/layers/table.h"

#include <string.h>

/* One row per line: */
/* clang-format off */
#define OPS(row) \
	row(dense) \
	row(relu) \
	row(relu6) \
	row(sigmoid) \
	row(tanh) \
	row(swish) \
	row(silu) \
	row(gelu) \
	row(leaky_relu) \
	row(elu) \
	row(celu) \
	row(selu) \
	row(exponential) \
	row(softplus) \
	row(softsign) \
	row(hard_sigmoid) \
	row(hard_silu) \
	row(hard_swish) \
	row(hard_tanh) \
	row(log_sigmoid) \
	row(mish) \
	row(soft_shrink) \
	row(hard_shrink) \
	row(tanh_shrink) \
	row(squareplus) \
	row(softmax) \
	row(dropout) \
	row(spatial_dropout2d) \
	row(embedding) \
	row(embedding_bag) \
	row(position_embedding) \
	row(lstm) \
	row(gru) \
	row(simple_rnn) \
	row(multi_head_attention) \
	row(batch_norm) \
	row(layer_norm) \
	row(rms_normalization) \
	row(unit_normalization) \
	row(normalization) \
	row(cast) \
	row(rescaling) \
	row(preprocess_input) \
	row(random_flip) \
	row(random_rotation) \
	row(random_zoom) \
	row(random_translation) \
	row(random_shear) \
	row(random_contrast) \
	row(random_brightness) \
	row(random_crop) \
	row(center_crop) \
	row(flatten) \
	row(reshape) \
	row(permute) \
	row(add) \
	row(subtract) \
	row(multiply) \
	row(average) \
	row(maximum) \
	row(minimum) \
	row(dot) \
	row(concatenate) \
	row(conv1d) \
	row(conv2d) \
	row(depthwise_conv1d) \
	row(depthwise_conv2d) \
	row(zero_padding1d) \
	row(zero_padding2d) \
	row(max_pooling1d) \
	row(max_pooling2d) \
	row(average_pooling1d) \
	row(average_pooling2d) \
	row(global_max_pooling1d) \
	row(global_average_pooling1d) \
	row(global_max_pooling2d) \
	row(global_average_pooling2d)
/* clang-format on */

#define DECLARE(name) extern const struct op op_##name;
OPS(DECLARE)

#define ROW(name) &op_##name,
static const struct op *const ops[] = { OPS(ROW) NULL };

const struct op *op_at(uint32_t i)
{
	return ops[i];
}

const struct op *op_find(const char *name)
{
	for (uint32_t i = 0; ops[i]; i++)
		if (!strcmp(ops[i]->name, name))
			return ops[i];
	return NULL;
}

#define NAME(name) ", " #name
const char *op_names(void)
{
	static const char names[] = OPS(NAME);

	return names + strlen(", ");
}

const char *op_meant(const char *name, char out[static NEAREST_TEXT_BYTES])
{
	struct nearest nearest = { .typed = name };

	for (uint32_t i = 0; ops[i]; i++)
		nearest_try(&nearest, ops[i]->name);
	return nearest_text(&nearest, out);
}
