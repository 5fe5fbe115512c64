/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/network/network.h"

#include "model/graph/graph.h"

/* Reads a weight of a layer from the file of the other program. `parameter`: Kiln's name for it, "kernel".
 * `index`: its place among the parameters that the layer has, from 0 on. Writes like->elements numbers.
 * Errors, which name the layer's origin: -EBADMSG the file has no such weight, or one of another shape. */
typedef int network_weight(void *context, const struct network_layer *layer, const char *parameter,
			   uint32_t index, const struct tensor *like, float *numbers, struct error *err);

/* Writes the weights of a network as a model file (model/model_file.h) with the configuration `text`: for
 * model.weights, and for `kiln predict`, `kiln evaluate` and `kiln export`. `ret_numbers`: how many numbers
 * the file has. Memory: that of all weights. Errors: those of `weight` and of safetensors_write(). */
MUST_CHECK int weights_write(const struct network *network, const struct graph *graph, const char *text,
			     const char *path, network_weight *weight, void *context, uint32_t *ret_tensors,
			     uint64_t *ret_numbers, struct error *err);
