/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks that together have each layer, loss, optimizer and type of numbers: for every_kernel.c.
 * Include it after tests/reference.h. */
#pragma once

#define ROWS    3u
#define INPUTS  5u
#define CLASSES 3u
#define NUMBERS 1024u /* of a row, at most */
#define TOKENS  40u   /* of a row; two rows have more than one segment of a gradient (embedding.cl) */
#define TABLE   7     /* ids are below */

struct net {
	const char *label;
	struct config_layer *layers;
	uint32_t count;
	uint64_t shape[3]; /* of the input; {0}: [INPUTS] */
	void (*change)(struct config *of);
};
#define NET(of, with, ...)                                                                                  \
	{                                                                                                   \
		.label = #of, .layers = of, .count = sizeof(of) / sizeof(*(of)), .change = with, .shape = { \
			__VA_ARGS__                                                                         \
		}                                                                                           \
	}
#define TEXTS(k, v)       TEXT_ATTRIBUTE(k, v)
#define FUNCTION(f, k, v) OP(f, ATTRIBUTES(1, FLOAT_ATTRIBUTE(k, v)))
#define FILTERS(n, h, w, ...) \
	INT_ATTRIBUTE("filters", n), INTS_ATTRIBUTE("kernel_size", 2, h, w), ##__VA_ARGS__
#define SAME          TEXT_ATTRIBUTE("padding", "same")
#define STRIDES(h, w) INTS_ATTRIBUTE("strides", 2, h, w)
#define END           OP("flatten"), DENSE(CLASSES), SOFTMAX

static struct config_layer functions[] = {
	DENSE(4),       RELU,
	DENSE(5),       OP("sigmoid"),
	DENSE(6),       OP("tanh"),
	DENSE(5),       OP("swish"),
	DENSE(4),       OP("gelu"),
	DENSE(5),       OP("gelu", ATTRIBUTES(1, BOOL_ATTRIBUTE("approximate", 1))),
	DENSE(6),       OP("leaky_relu"),
	DENSE(5),       FUNCTION("relu", "max_value", 0.4),
	DENSE(6),       OP("elu"),
	DENSE(5),       OP("celu"),
	DENSE(6),       OP("selu"),
	DENSE(5),       OP("exponential"),
	DENSE(6),       OP("softplus"),
	DENSE(5),       OP("softsign"),
	DENSE(6),       OP("hard_sigmoid"),
	DENSE(5),       OP("hard_silu"),
	DENSE(6),       OP("hard_tanh"),
	DENSE(5),       OP("log_sigmoid"),
	DENSE(6),       OP("mish"),
	DENSE(5),       OP("soft_shrink"),
	DENSE(6),       OP("hard_shrink"),
	DENSE(5),       OP("tanh_shrink"),
	DENSE(6),       OP("squareplus"),
	DENSE(7),       SOFTMAX,
	DENSE(20),      RELU,
	DROPOUT(0.3),   OP("layer_norm"),
	DENSE(40),      RELU,
	DENSE(CLASSES), SOFTMAX
};
static struct config_layer wide[] = { DENSE(18), RELU, DENSE(33), DENSE(520), RELU, DENSE(CLASSES), SOFTMAX };
/* A relu and a dropout that no product takes, a sum, a join and products of layers. */
static struct config_layer joined[] = { RELU,
					DROPOUT(0.2),
					NAMED("dense", "a", ATTRIBUTES(1, INT_ATTRIBUTE("units", 4))),
					NAMED("relu", "b", .attributes = 0),
					NAMED("dense", "c", INPUTS_OF(1, "a"),
					      ATTRIBUTES(1, INT_ATTRIBUTE("units", 4))),
					OP("add", INPUTS_OF(3, "c", "b", "a")),
					OP("concatenate", INPUTS_OF(2, "add", "sentence")),
					NAMED("dense", "d", ATTRIBUTES(1, INT_ATTRIBUTE("units", 4))),
					NAMED("multiply", "m", INPUTS_OF(3, "d", "a", "c")),
					NAMED("multiply", "n", INPUTS_OF(2, "m", "d")),
					OP("maximum", INPUTS_OF(3, "n", "a", "c")),
					OP("subtract", INPUTS_OF(2, "maximum", "c")),
					OP("average", INPUTS_OF(2, "subtract", "a")),
					DROPOUT(0.5),
					RELU,
					DENSE(CLASSES),
					SOFTMAX };
/* Squeeze and excite: the gate is [1, 1, channels]. */
static struct config_layer gates[] = {
	NAMED("dense", "a", ATTRIBUTES(1, INT_ATTRIBUTE("units", 4))),
	OP("global_average_pooling2d", ATTRIBUTES(1, BOOL_ATTRIBUTE("keepdims", 1))),
	NAMED("sigmoid", "g", .attributes = 0), OP("multiply", INPUTS_OF(2, "g", "a")), END
};
static struct config_layer dense_norms[] = {
	DENSE(4), OP("batch_norm"),
	RELU,     OP("normalization"),
	DENSE(3), OP("batch_norm", ATTRIBUTES(1, BOOL_ATTRIBUTE("trainable", 0))),
	END
};
static struct config_layer norm_lines[] = { DENSE(24), OP("batch_norm"), RELU,
					    DENSE(17), OP("batch_norm"), END };
static struct config_layer convs[] = { OP("conv2d", ATTRIBUTES(3, FILTERS(5, 3, 3), SAME)),
				       RELU,
				       OP("conv2d", ATTRIBUTES(4, FILTERS(17, 3, 2), SAME, STRIDES(2, 1))),
				       OP("conv2d", ATTRIBUTES(2, FILTERS(33, 2, 1))),
				       OP("spatial_dropout2d", ATTRIBUTES(1, FLOAT_ATTRIBUTE("rate", 0.4))),
				       OP("zero_padding2d"),
				       OP("permute", ATTRIBUTES(1, INTS_ATTRIBUTE("dims", 3, 2, 3, 1))),
				       END };
static struct config_layer quads[] = { OP("conv2d", ATTRIBUTES(2, FILTERS(16, 1, 1))),
				       OP("conv2d", ATTRIBUTES(3, FILTERS(32, 3, 3), SAME)), RELU,
				       OP("conv2d", ATTRIBUTES(3, FILTERS(33, 3, 3), SAME)), END };
static struct config_layer depthwises[] = {
	OP("depthwise_conv2d",
	   ATTRIBUTES(3, INT_ATTRIBUTE("kernel_size", 3), SAME, INT_ATTRIBUTE("depth_multiplier", 2))),
	RELU,
	OP("depthwise_conv2d", ATTRIBUTES(3, INT_ATTRIBUTE("kernel_size", 3), SAME, STRIDES(2, 2))),
	OP("zero_padding2d"),
	OP("global_average_pooling2d"),
	DENSE(CLASSES),
	SOFTMAX
};
static struct config_layer pools[] = {
	DENSE(3), RELU,
	OP("max_pooling2d", ATTRIBUTES(3, INTS_ATTRIBUTE("pool_size", 2, 3, 2), SAME, STRIDES(2, 1))),
	OP("average_pooling2d", ATTRIBUTES(1, INTS_ATTRIBUTE("pool_size", 2, 2, 2))), END
};
#define WARP(f, k, v) OP(f, ATTRIBUTES(1, FLOAT_ATTRIBUTE(k, v)))
static struct config_layer pictures[] = {
	NAMED("random_crop", "crop", INPUTS_OF(1, "pixels"),
	      ATTRIBUTES(2, INT_ATTRIBUTE("height", 5), INT_ATTRIBUTE("width", 4))),
	WARP("random_contrast", "factor", 0.9),
	WARP("random_brightness", "factor", 0.6),
	WARP("rescaling", "scale", 1 / 255.0),
	OP("random_flip"),
	WARP("random_rotation", "factor", 0.3),
	WARP("random_zoom", "height_factor", 0.5),
	OP("preprocess_input", ATTRIBUTES(1, TEXT_ATTRIBUTE("mode", "torch"))),
	END
};
static struct config_layer plain_pixels[] = {
	NAMED("conv2d", "c", INPUTS_OF(1, "pixels"), ATTRIBUTES(2, FILTERS(2, 3, 3))), END
};
#define TABLE_OF(columns) INT_ATTRIBUTE("input_dim", TABLE), INT_ATTRIBUTE("output_dim", columns)
static struct config_layer tables[] = {
	NAMED("embedding_bag", "a", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(18))),
	NAMED("embedding", "b", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(9))),
	OP("flatten"),
	OP("add", INPUTS_OF(2, "a", "flatten")),
	DENSE(CLASSES),
	SOFTMAX
};
/* 18 units: a panel and a part of one. */
#define SEQUENCE(n) ATTRIBUTES(2, INT_ATTRIBUTE("units", n), BOOL_ATTRIBUTE("return_sequences", 1))
static struct config_layer recurrents[] = {
	OP("lstm", SEQUENCE(18)), OP("gru", SEQUENCE(5)),
	OP("simple_rnn", ATTRIBUTES(2, INT_ATTRIBUTE("units", 3), FLOAT_ATTRIBUTE("dropout", 0.4))), END
};
static struct config_layer attentions[] = {
	OP("multi_head_attention",
	   ATTRIBUTES(4, INT_ATTRIBUTE("num_heads", 2), INT_ATTRIBUTE("key_dim", 3),
		      FLOAT_ATTRIBUTE("dropout", 0.3), BOOL_ATTRIBUTE("use_causal_mask", 1))),
	END
};
/* Ids that are 0 do not count. */
static struct config_layer masks[] = {
	NAMED("embedding", "e", INPUTS_OF(1, "ids"),
	      ATTRIBUTES(3, TABLE_OF(6), BOOL_ATTRIBUTE("mask_zero", 1))),
	NAMED("position_embedding", "p", ATTRIBUTES(1, INT_ATTRIBUTE("sequence_length", 20))),
	OP("add", INPUTS_OF(2, "p", "e")),
	OP("multi_head_attention", ATTRIBUTES(2, INT_ATTRIBUTE("num_heads", 2), INT_ATTRIBUTE("key_dim", 3))),
	OP("lstm", SEQUENCE(5)),
	OP("gru", SEQUENCE(5)),
	OP("simple_rnn", SEQUENCE(4)),
	OP("global_average_pooling1d"),
	DENSE(CLASSES),
	SOFTMAX
};
static struct config_layer casts[] = { OP("cast", INPUTS_OF(1, "ids")), DENSE(CLASSES), SOFTMAX };
static struct config_layer numbers_of_rows[] = { DENSE(4), RELU, DENSE(CLASSES) };
static struct config_layer yes_or_no[] = { DENSE(4), OP("tanh"), DENSE(CLASSES), OP("sigmoid") };

static void with_top(struct config *of)
{
	of->model.top_k = 2;
}

static void with_sgd(struct config *of)
{
	of->optimizer.name = "sgd";
	of->optimizer.global_clipnorm = 1;
	of->model.loss = "mean_squared_error";
}

#define WITH_OPTIMIZER(its)                       \
	static void with_##its(struct config *of) \
	{                                         \
		of->optimizer.name = #its;        \
	}
WITH_OPTIMIZER(rmsprop)
WITH_OPTIMIZER(adagrad)
WITH_OPTIMIZER(adamax)
WITH_OPTIMIZER(lion)

#define WITH_LOSS(name)                            \
	static void with_##name(struct config *of) \
	{                                          \
		of->model.loss = #name;            \
	}
WITH_LOSS(categorical_focal_crossentropy)
WITH_LOSS(binary_focal_crossentropy)
WITH_LOSS(mean_absolute_error)
WITH_LOSS(huber)
WITH_LOSS(log_cosh)
WITH_LOSS(poisson)
WITH_LOSS(hinge)
WITH_LOSS(squared_hinge)
WITH_LOSS(kl_divergence)
WITH_LOSS(cosine_similarity)

static void with_momentum(struct config *of)
{
	of->optimizer.name = "sgd";
	of->optimizer.momentum = 0.9;
	of->optimizer.clipvalue = 0.05;
	of->optimizer.use_ema = true;
	of->optimizer.ema_overwrite_frequency = 1;
	of->optimizer.gradient_accumulation_steps = 2;
	of->model.loss = "binary_crossentropy";
}

static void with_decay(struct config *of)
{
	of->optimizer.name = "adamw";
	of->optimizer.weight_decay = 0.5;
	of->optimizer.exclude_from_weight_decay = "bias";
	of->optimizer.clipnorm = 1;
}

static void with_lazy_rows(struct config *of)
{
	of->optimizer.lazy = true;
}

static void with_accumulation(struct config *of)
{
	of->optimizer.gradient_accumulation_steps = 2;
}

/* Several micro-batches in a step, of ROWS rows each. */
static void in_lanes(struct config *of)
{
	of->order.lanes = 3;
	of->ranks.exact = true;
	of->run.batch_rows = of->order.lanes * ROWS;
}

static void in_bfloat16(struct config *of)
{
	of->model.precision = PRECISION_MIXED_BFLOAT16;
}

static void in_float16(struct config *of)
{
	of->model.precision = PRECISION_MIXED_FLOAT16;
	with_decay(of);
}

static const struct net nets[] = {
	NET(functions, with_top),
	NET(functions, in_bfloat16),
	NET(functions, in_float16),
	NET(wide, with_decay),
	NET(joined, NULL),
	NET(joined, in_bfloat16),
	NET(dense_norms, NULL),
	NET(gates, NULL, 3, 3, 3),
	NET(dense_norms, NULL, 30, 2),
	NET(norm_lines, NULL, 3, 3),
	NET(norm_lines, in_bfloat16, 3, 3),
	NET(convs, NULL, 4, 5, 3),
	NET(convs, in_bfloat16, 4, 5, 3),
	NET(quads, NULL, 4, 4, 3),
	NET(depthwises, NULL, 5, 4, 3),
	NET(depthwises, in_bfloat16, 5, 4, 16),
	NET(depthwises, NULL, 5, 4, 16),
	NET(pools, NULL, 5, 4, 3),
	NET(pools, in_bfloat16, 5, 4, 3),
	NET(pictures, NULL),
	NET(pictures, in_bfloat16),
	NET(plain_pixels, NULL),
	NET(tables, NULL),
	NET(casts, NULL),
	NET(recurrents, NULL, 3, 2),
	NET(recurrents, in_bfloat16, 3, 2),
	NET(attentions, NULL, 5, 2),
	NET(masks, NULL),
	NET(masks, in_bfloat16),
	NET(attentions, in_bfloat16, 5, 2),
	NET(tables, with_lazy_rows),
	NET(tables, with_accumulation),
	NET(tables, in_bfloat16),
	NET(numbers_of_rows, with_sgd),
	NET(yes_or_no, with_momentum),
	NET(dense_norms, with_rmsprop),
	NET(dense_norms, with_adagrad),
	NET(dense_norms, with_adamax),
	NET(dense_norms, with_lion),
	NET(functions, with_categorical_focal_crossentropy),
	NET(yes_or_no, with_binary_focal_crossentropy),
	NET(numbers_of_rows, with_mean_absolute_error),
	NET(numbers_of_rows, with_huber),
	NET(numbers_of_rows, with_log_cosh),
	NET(numbers_of_rows, with_poisson),
	NET(numbers_of_rows, with_hinge),
	NET(numbers_of_rows, with_squared_hinge),
	NET(numbers_of_rows, with_kl_divergence),
	NET(numbers_of_rows, with_cosine_similarity),
	NET(dense_norms, in_lanes), /* the last one: LANES_NET */
};

#define LANES_NET (sizeof(nets) / sizeof(*nets) - 1)

static struct config config_of(const struct net *net)
{
	struct config of = model_config(net->layers, net->count, INPUTS, CLASSES, ROWS);

	for (uint32_t i = 0; i < 3 && net->shape[i]; i++) {
		of.feature[0].rank = i + 1;
		of.feature[0].shape[i] = net->shape[i];
	}
	of.features = 5;
	of.feature[2] =
		(struct config_feature){ .name = "ids", .dtype = CONFIG_INT64, .rank = 1, .shape = { 2 } };
	of.feature[3] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = TOKENS };
	of.feature[4] = (struct config_feature){
		.name = "pixels", .dtype = CONFIG_PICTURE, .rank = 3, .shape = { 6, 5, 3 }
	};
	if (net->change)
		net->change(&of);
	return of;
}
