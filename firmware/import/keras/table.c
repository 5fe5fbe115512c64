/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/special.h"

#include <string.h>

#define RANDOM "bounding_box_format=*"

/* clang-format off */
static const struct keras_row layers[] = {
	{ "Dense", "dense", "", NULL },
	{ "Activation", "relu", "", keras_activation },
	{ "ReLU", "relu", "", NULL },
	{ "LeakyReLU", "leaky_relu", "", NULL },
	{ "ELU", "elu", "", NULL },
	{ "Softmax", "softmax", "axis=last", NULL },
	{ "Identity", "relu", "", keras_nothing },
	{ "Dropout", "dropout", "noise_shape=null", NULL },
	{ "SpatialDropout2D", "spatial_dropout2d", "", NULL },
	{ "Embedding", "embedding", "", NULL },
	{ "Bidirectional", "concatenate", "", keras_bidirectional },
	{ "TimeDistributed", "dense", "", keras_time_distributed },
	{ "MultiHeadAttention", "multi_head_attention",
	  "use_gate=false output_shape=null attention_axes=null|[1] sliding_window=null", keras_attention },
	{ "BatchNormalization", "batch_norm",
	  "axis=last synchronized=false renorm=false renorm_clipping=* renorm_momentum=*", NULL },
	{ "LayerNormalization", "layer_norm", "axis=last rms_scaling=false", NULL },
	{ "RMSNormalization", "rms_normalization", "axis=last", NULL },
	{ "UnitNormalization", "unit_normalization", "axis=last", NULL },
	{ "Normalization", "normalization", "axis=last invert=false mean=null variance=null", keras_normalization },
	{ "Rescaling", "rescaling", "", NULL },
	{ "RandomFlip", "random_flip", RANDOM, NULL },
	{ "RandomRotation", "random_rotation", RANDOM, NULL },
	{ "RandomZoom", "random_zoom", RANDOM, NULL },
	{ "RandomTranslation", "random_translation", RANDOM, NULL },
	{ "RandomBrightness", "random_brightness", RANDOM, NULL },
	{ "RandomCrop", "random_crop", RANDOM, NULL },
	{ "CenterCrop", "center_crop", RANDOM, NULL },
	{ "Flatten", "flatten", "", NULL },
	{ "Reshape", "reshape", "", NULL },
	{ "Permute", "permute", "", NULL },
	{ "Add", "add", "", NULL },
	{ "Subtract", "subtract", "", NULL },
	{ "Multiply", "multiply", "", NULL },
	{ "Average", "average", "", NULL },
	{ "Maximum", "maximum", "", NULL },
	{ "Minimum", "minimum", "", NULL },
	{ "Dot", "dot", "normalize=false", NULL },
	{ "Concatenate", "concatenate", "", NULL },
	{ "Conv1D", "conv1d", "groups=1", NULL },
	{ "Conv2D", "conv2d", "groups=1", NULL },
	{ "DepthwiseConv1D", "depthwise_conv1d", "", NULL },
	{ "DepthwiseConv2D", "depthwise_conv2d", "", NULL },
	{ "SeparableConv1D", "depthwise_conv1d", "", keras_separable },
	{ "SeparableConv2D", "depthwise_conv2d", "", keras_separable },
	{ "ZeroPadding1D", "zero_padding1d", "", NULL },
	{ "ZeroPadding2D", "zero_padding2d", "", keras_padding },
	{ "MaxPooling1D", "max_pooling1d", "", keras_pooling },
	{ "MaxPooling2D", "max_pooling2d", "", keras_pooling },
	{ "AveragePooling1D", "average_pooling1d", "", keras_pooling },
	{ "AveragePooling2D", "average_pooling2d", "", keras_pooling },
	{ "GlobalMaxPooling1D", "global_max_pooling1d", "", NULL },
	{ "GlobalAveragePooling1D", "global_average_pooling1d", "", NULL },
	{ "GlobalMaxPooling2D", "global_max_pooling2d", "", NULL },
	{ "GlobalAveragePooling2D", "global_average_pooling2d", "", NULL },
};

/* Functions of keras.ops in the graph, such as x + y. */
static const struct keras_row operations[] = {
	{ "Add", "add", "", keras_arithmetic },
	{ "Subtract", "subtract", "", keras_arithmetic },
	{ "Multiply", "multiply", "", keras_arithmetic },
	{ "Divide", "multiply", "", keras_arithmetic },
	{ "TrueDivide", "multiply", "", keras_arithmetic },
	{ "Maximum", "maximum", "", keras_arithmetic },
	{ "Minimum", "minimum", "", keras_arithmetic },
	{ "Relu", "relu", "", NULL },
	{ "LeakyRelu", "leaky_relu", "", NULL },
	{ "Gelu", "gelu", "", NULL },
	{ "Relu6", "relu6", "", NULL },
	{ "Sigmoid", "sigmoid", "", NULL },
	{ "Tanh", "tanh", "", NULL },
	{ "Silu", "silu", "", NULL },
	{ "HardSigmoid", "hard_sigmoid", "", NULL },
	{ "HardSilu", "hard_silu", "", NULL },
	{ "Softplus", "softplus", "", NULL },
	{ "Softsign", "softsign", "", NULL },
	{ "Softmax", "softmax", "axis=last", NULL },
	{ "Identity", "relu", "", keras_nothing },
};
/* clang-format on */

static const struct keras_row *find(const struct keras_row *rows, size_t count, const char *class)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].class, class) == 0)
			return &rows[i];
	return NULL;
}

const struct keras_row *keras_row_of(const char *class, bool operation)
{
	const struct keras_row *row;

	if (operation)
		return find(operations, sizeof(operations) / sizeof(*operations), class);
	row = find(layers, sizeof(layers) / sizeof(*layers), class);
	return row ? row : keras_recurrent(class);
}
