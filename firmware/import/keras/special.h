/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of Keras that are not one layer of Kiln with the same attributes: functions for the rows of
 * table.c. */
#pragma once

#include "import/keras/layer.h"

/* No layer: the output is the input. */
void keras_nothing(struct keras_call *call, const struct keras_row *row);
/* The function that the attribute `activation` names. */
void keras_activation(struct keras_call *call, const struct keras_row *row);
/* A depthwise convolution, and one of 1 x 1. */
void keras_separable(struct keras_call *call, const struct keras_row *row);
/* Returns the row of a recurrent layer; NULL: the class is none. */
const struct keras_row *keras_recurrent(const char *class);
/* Two recurrent layers, and a layer that joins them. */
void keras_bidirectional(struct keras_call *call, const struct keras_row *row);
/* The inner layer, where it works on the last dimension alone. */
void keras_time_distributed(struct keras_call *call, const struct keras_row *row);
void keras_attention(struct keras_call *call, const struct keras_row *row);
/* `normalization` of a feature; elsewhere a batch_norm that does not learn. */
void keras_normalization(struct keras_call *call, const struct keras_row *row);
/* Padding [[top, bottom], [left, right]]. */
void keras_padding(struct keras_call *call, const struct keras_row *row);
/* Strides that are the size of the pool. */
void keras_pooling(struct keras_call *call, const struct keras_row *row);
/* Two tensors, or a tensor and a number: then a rescaling. */
void keras_arithmetic(struct keras_call *call, const struct keras_row *row);
