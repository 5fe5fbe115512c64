/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/kernel_table.h"

#include "model/plan/tiles.h"

#include <string.h>

#define PRODUCTS(size, ...)                                                                               \
	{ "gemm_nn_" #size, KERNEL_FILE_gemm_tiled, 0 }, { "gemm_tn_" #size, KERNEL_FILE_gemm_tiled, 0 }, \
		{ "gemm_nt_" #size, KERNEL_FILE_gemm_tiled, 0 },
#define MMA_PRODUCTS(size, ...)                                                                     \
	{ "mma_nn_" #size, KERNEL_FILE_gemm_mma, 0 }, { "mma_tn_" #size, KERNEL_FILE_gemm_mma, 0 }, \
		{ "mma_nt_" #size, KERNEL_FILE_gemm_mma, 0 },
#define WGMMA_PRODUCTS(size, ...)                                                                       \
	{ "wgmma_nn_" #size, KERNEL_FILE_gemm_mma, 0 }, { "wgmma_tn_" #size, KERNEL_FILE_gemm_mma, 0 }, \
		{ "wgmma_nt_" #size, KERNEL_FILE_gemm_mma, 0 },
#define CONVOLUTIONS(size, ...) \
	{ "conv_" #size, KERNEL_FILE_conv_tiled, 0 }, { "conv_kernel_" #size, KERNEL_FILE_conv_tiled, 0 },
#define WGMMA_CONVOLUTIONS(size, ...)                     \
	{ "wgmma_conv_" #size, KERNEL_FILE_conv_mma, 0 }, \
		{ "wgmma_conv_kernel_" #size, KERNEL_FILE_conv_mma, 0 },
/* The kernels of the two passes. */
#define FUNCTION(name)                                       \
	{ #name "_forward", KERNEL_FILE_activation, 0 },     \
	{                                                    \
#name "_backward", KERNEL_FILE_activation, 0 \
	}
/* The kernel of CPU devices and that of GPUs. */
#define LOSS(name, file)                              \
	{ #name, KERNEL_FILE_##file, 0 },             \
	{                                             \
#name "_group", KERNEL_FILE_##file, 0 \
	}

const struct kernel kernel_table[] = {
	/* gemm.cl */
	{ "gemm_6x64", KERNEL_FILE_gemm, KERNEL_SINGLE },
	{ "gemm_8x32", KERNEL_FILE_gemm, KERNEL_SINGLE },
	{ "gemm_8x16", KERNEL_FILE_gemm, KERNEL_SINGLE },
	/* gemm_packed.cl */
	{ "gemm_packed_6x64", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "gemm_packed_8x32", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "gemm_packed_8x16", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "dense_backward_6x64", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "dense_backward_8x32", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "dense_backward_8x16", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	{ "gemm_transpose", KERNEL_FILE_gemm_packed, KERNEL_SINGLE },
	/* gemm_tiled.cl */
	{ "gemm_16x16", KERNEL_FILE_gemm_tiled, 0 },
	{ "dense_backward_16x16", KERNEL_FILE_gemm_tiled, 0 },
	{ "dense_forward_16x16", KERNEL_FILE_gemm_tiled, 0 },
	{ "gemm_sum", KERNEL_FILE_gemm_tiled, 0 },
	TILE_SIZES(PRODUCTS) /**/
	/* gemm_mma.cl */
	MMA_SIZES(MMA_PRODUCTS) WGMMA_SIZES(WGMMA_PRODUCTS) /**/
	/* elements.cl */
	{ "relu", KERNEL_FILE_elements, 0 },
	{ "relu_backward", KERNEL_FILE_elements, 0 },
	{ "dropout", KERNEL_FILE_elements, 0 },
	{ "dropout_lines", KERNEL_FILE_elements, 0 },
	{ "spatial_dropout", KERNEL_FILE_elements, 0 },
	{ "multiply_two", KERNEL_FILE_elements, 0 },
	{ "multiply_sum", KERNEL_FILE_elements, 0 },
	{ "move_image", KERNEL_FILE_elements, 0 },
	{ "move_lines", KERNEL_FILE_elements, 0 },
	{ "permute", KERNEL_FILE_elements, 0 },
	{ "step_vectors", KERNEL_FILE_elements, 0 },
	{ "step_vector_sums", KERNEL_FILE_elements, 0 },
	{ "add_two", KERNEL_FILE_elements, 0 },
	{ "extreme_two", KERNEL_FILE_elements, 0 },
	{ "extreme_backward", KERNEL_FILE_elements, 0 },
	{ "copy_columns", KERNEL_FILE_elements, 0 },
	{ "bias_add", KERNEL_FILE_elements, 0 },
	{ "column_sums", KERNEL_FILE_elements, 0 },
	{ "to_stored", KERNEL_FILE_elements, 0 },
	{ "from_stored", KERNEL_FILE_elements, 0 },
	{ "bytes_to_stored", KERNEL_FILE_elements, 0 },
	{ "integers_to_stored", KERNEL_FILE_elements, 0 },
	{ "rescale", KERNEL_FILE_elements, 0 },
	{ "scale_channels", KERNEL_FILE_elements, 0 },
	/* activation.cl */
	FUNCTION(sigmoid),
	FUNCTION(tanh),
	FUNCTION(swish),
	FUNCTION(gelu),
	FUNCTION(gelu_tanh),
	FUNCTION(leaky_relu),
	FUNCTION(elu),
	FUNCTION(celu),
	FUNCTION(selu),
	FUNCTION(exponential),
	FUNCTION(softplus),
	FUNCTION(softsign),
	FUNCTION(hard_sigmoid),
	FUNCTION(hard_silu),
	FUNCTION(hard_tanh),
	FUNCTION(log_sigmoid),
	FUNCTION(mish),
	FUNCTION(soft_shrink),
	FUNCTION(hard_shrink),
	FUNCTION(tanh_shrink),
	FUNCTION(squareplus),
	{ "relu_limited", KERNEL_FILE_activation, 0 },
	{ "relu_limited_backward", KERNEL_FILE_activation, 0 },
	/* softmax.cl */
	{ "softmax", KERNEL_FILE_softmax, 0 },
	{ "softmax_backward", KERNEL_FILE_softmax, 0 },
	/* rows.cl */
	{ "softmax_group", KERNEL_FILE_rows, 0 },
	{ "softmax_backward_group", KERNEL_FILE_rows, 0 },
	{ "layer_norm_group", KERNEL_FILE_rows, 0 },
	{ "layer_norm_backward_group", KERNEL_FILE_rows, 0 },
	/* norm.cl */
	{ "column_moments", KERNEL_FILE_norm, 0 },
	{ "merge_moments", KERNEL_FILE_norm, 0 },
	{ "batch_moments", KERNEL_FILE_norm, 0 },
	{ "given_moments", KERNEL_FILE_norm, 0 },
	{ "normalize_columns", KERNEL_FILE_norm, 0 },
	{ "column_gradients", KERNEL_FILE_norm, 0 },
	{ "row_gradients", KERNEL_FILE_norm, 0 },
	{ "merge_gradients", KERNEL_FILE_norm, 0 },
	{ "norm_parameter_gradients", KERNEL_FILE_norm, 0 },
	{ "batch_norm_backward", KERNEL_FILE_norm, 0 },
	/* layer_norm.cl */
	{ "layer_norm", KERNEL_FILE_layer_norm, 0 },
	{ "layer_norm_backward", KERNEL_FILE_layer_norm, 0 },
	/* norm_lines.cl */
	{ "column_moments_lines", KERNEL_FILE_norm_lines, 0 },
	{ "column_gradients_lines", KERNEL_FILE_norm_lines, 0 },
	{ "normalize_columns_lines", KERNEL_FILE_norm_lines, 0 },
	{ "batch_norm_backward_lines", KERNEL_FILE_norm_lines, 0 },
	/* embedding.cl */
	{ "look_up", KERNEL_FILE_embedding, 0 },
	{ "bag", KERNEL_FILE_embedding, 0 },
	{ "look_up_quads", KERNEL_FILE_embedding, 0 },
	{ "bag_quads", KERNEL_FILE_embedding, 0 },
	{ "wrong_ids", KERNEL_FILE_embedding, 0 },
	{ "embedding_keys", KERNEL_FILE_embedding, 0 },
	{ "sort_count", KERNEL_FILE_embedding, 0 },
	{ "sort_places", KERNEL_FILE_embedding, 0 },
	{ "sort_move", KERNEL_FILE_embedding, 0 },
	{ "embedding_clear", KERNEL_FILE_embedding, 0 },
	{ "embedding_clear_quads", KERNEL_FILE_embedding, 0 },
	{ "embedding_clear_all", KERNEL_FILE_embedding, 0 },
	{ "embedding_gradient", KERNEL_FILE_embedding, 0 },
	{ "embedding_segments", KERNEL_FILE_embedding, 0 },
	{ "embedding_join", KERNEL_FILE_embedding, 0 },
	{ "adam_rows", KERNEL_FILE_embedding, 0 },
	{ "adam_rows_quads", KERNEL_FILE_embedding, 0 },
	/* losses.cl */
	{ "softmax_crossentropy", KERNEL_FILE_losses, KERNEL_SINGLE },
	{ "sigmoid_crossentropy", KERNEL_FILE_losses, 0 },
	/* row_losses.cl */
	{ "softmax_crossentropy_group", KERNEL_FILE_row_losses, 0 },
	{ "sigmoid_crossentropy_group", KERNEL_FILE_row_losses, 0 },
	/* focal_losses.cl */
	LOSS(softmax_focal, focal_losses),
	LOSS(sigmoid_focal, focal_losses),
	/* number_losses.cl */
	LOSS(squared_error, number_losses),
	LOSS(absolute_error, number_losses),
	LOSS(huber_error, number_losses),
	LOSS(log_cosh_error, number_losses),
	LOSS(poisson_error, number_losses),
	LOSS(hinge_error, number_losses),
	LOSS(squared_hinge_error, number_losses),
	LOSS(divergence, number_losses),
	LOSS(cosine_distance, number_losses),
	/* confusion.cl */
	{ "confusion", KERNEL_FILE_confusion, 0 },
	/* metrics.cl */
	{ "metrics", KERNEL_FILE_metrics, KERNEL_SINGLE },
	{ "metrics_group", KERNEL_FILE_metrics, 0 },
	/* update.cl */
	{ "adam", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "sgd", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "sgd_momentum", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "rmsprop", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "adagrad", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "adamax", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "lion", KERNEL_FILE_update, KERNEL_SINGLE },
	{ "average", KERNEL_FILE_update, KERNEL_SINGLE },
	/* gradients.cl */
	{ "prepare_gradients", KERNEL_FILE_gradients, 0 },
	{ "gradient_sums", KERNEL_FILE_gradients, 0 },
	{ "scale_gradients", KERNEL_FILE_gradients, 0 },
	{ "decay_weights", KERNEL_FILE_gradients, 0 },
	/* parts.cl */
	{ "begin_part", KERNEL_FILE_parts, 0 },
	{ "add_part", KERNEL_FILE_parts, KERNEL_WITH_FILE },
	{ "weigh_parts", KERNEL_FILE_parts, 0 },
	{ "average_parts", KERNEL_FILE_parts, 0 },
	/* loss_scale.cl */
	{ "check_gradients", KERNEL_FILE_loss_scale, 0 },
	{ "adapt_scale", KERNEL_FILE_loss_scale, 0 },
	{ "unscale_gradients", KERNEL_FILE_loss_scale, 0 },
	/* conv.cl */
	{ "conv_kernel_6x64", KERNEL_FILE_conv, 0 },
	{ "conv_kernel_8x32", KERNEL_FILE_conv, 0 },
	{ "conv_kernel_8x16", KERNEL_FILE_conv, 0 },
	{ "conv_sum", KERNEL_FILE_conv, 0 },
	{ "conv_sum_lines", KERNEL_FILE_conv, 0 },
	{ "conv_flip", KERNEL_FILE_conv, 0 },
	/* conv_packed.cl */
	{ "conv_packed_6x64", KERNEL_FILE_conv_packed, 0 },
	{ "conv_packed_8x32", KERNEL_FILE_conv_packed, 0 },
	{ "conv_packed_8x16", KERNEL_FILE_conv_packed, 0 },
	/* conv_winograd.cl */
	{ "winograd_kernels", KERNEL_FILE_conv_winograd, 0 },
	{ "conv_winograd_6x64", KERNEL_FILE_conv_winograd, 0 },
	{ "conv_winograd_8x32", KERNEL_FILE_conv_winograd, 0 },
	/* conv_tiled.cl */
	TILE_SIZES(CONVOLUTIONS) /**/
	/* conv_mma.cl */
	WGMMA_SIZES(WGMMA_CONVOLUTIONS) /**/
	/* depthwise.cl */
	{ "depthwise", KERNEL_FILE_depthwise, 0 },
	{ "depthwise_input", KERNEL_FILE_depthwise, 0 },
	{ "depthwise_kernel", KERNEL_FILE_depthwise, 0 },
	/* depthwise_lines.cl */
	{ "depthwise_lines", KERNEL_FILE_depthwise_lines, 0 },
	{ "depthwise_kernel_lines", KERNEL_FILE_depthwise_lines, 0 },
	/* pool.cl */
	{ "masked_mean", KERNEL_FILE_pool, 0 },
	{ "masked_mean_backward", KERNEL_FILE_pool, 0 },
	{ "max_pool", KERNEL_FILE_pool, 0 },
	{ "max_pool_backward", KERNEL_FILE_pool, 0 },
	{ "average_pool", KERNEL_FILE_pool, 0 },
	{ "average_pool_backward", KERNEL_FILE_pool, 0 },
	/* recurrent.cl */
	{ "recurrent_panels", KERNEL_FILE_recurrent, 0 },
	{ "gru_bias", KERNEL_FILE_recurrent, 0 },
	{ "lstm", KERNEL_FILE_recurrent, 0 },
	{ "lstm_gradients", KERNEL_FILE_recurrent, 0 },
	{ "lstm_group", KERNEL_FILE_recurrent, 0 },
	{ "lstm_gradients_group", KERNEL_FILE_recurrent, 0 },
	{ "gru", KERNEL_FILE_recurrent, 0 },
	{ "gru_gradients", KERNEL_FILE_recurrent, 0 },
	{ "gru_group", KERNEL_FILE_recurrent, 0 },
	{ "gru_gradients_group", KERNEL_FILE_recurrent, 0 },
	{ "simple_rnn", KERNEL_FILE_recurrent, 0 },
	{ "simple_rnn_gradients", KERNEL_FILE_recurrent, 0 },
	{ "simple_rnn_group", KERNEL_FILE_recurrent, 0 },
	{ "simple_rnn_gradients_group", KERNEL_FILE_recurrent, 0 },
	/* attention.cl, attention_group.cl */
	{ "attention", KERNEL_FILE_attention, 0 },
	{ "attention_query_gradients", KERNEL_FILE_attention, 0 },
	{ "attention_key_gradients", KERNEL_FILE_attention, 0 },
	{ "attention_group", KERNEL_FILE_attention_group, 0 },
	{ "attention_query_gradients_group", KERNEL_FILE_attention_group, 0 },
	{ "attention_key_gradients_group", KERNEL_FILE_attention_group, 0 },
	/* augment.cl */
	{ "warp_matrix", KERNEL_FILE_augment, 0 },
	{ "warp", KERNEL_FILE_augment, 0 },
	{ "contrast_sums", KERNEL_FILE_augment, 0 },
	{ "contrast_table", KERNEL_FILE_augment, 0 },
	{ "brightness_table", KERNEL_FILE_augment, 0 },
	{ "adjust", KERNEL_FILE_augment, 0 },
	{ "crop_places", KERNEL_FILE_augment, 0 },
	{ "crop", KERNEL_FILE_augment, 0 },
	/* chain.cl */
	{ "chain", KERNEL_FILE_chain, 0 },
};

const uint32_t kernel_table_count = sizeof(kernel_table) / sizeof(*kernel_table);

const struct kernel *kernel_find(const char *name)
{
	for (uint32_t i = 0; i < kernel_table_count; i++)
		if (!strcmp(kernel_table[i].name, name))
			return &kernel_table[i];
	return NULL;
}

bool kernel_is_single(const char *name)
{
	const struct kernel *kernel = kernel_find(name);

	return kernel && kernel->properties & KERNEL_SINGLE;
}
