/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.precision: the type in which numbers are stored while a model is trained. Names and meaning are those
 * of Keras's dtype policies:
 *   float32         everything is float32
 *   mixed_bfloat16  activations, their gradients and the copies of weights that products read are bfloat16
 *   mixed_float16   like mixed_bfloat16 with IEEE binary16, and the loss is scaled (loss_scale.h)
 * Every computation and every sum is float32; so are losses, statistics, norms, weights (the master weights,
 * which the optimizer updates), slots, gradients of weights, and every checkpoint, which therefore can be
 * loaded with another precision. A model that is only used, for `kiln predict`, `kiln evaluate` and exports,
 * is float32.
 *
 * Loss of precision (tests/unit/precision.c, tests/interop/parity.py, `tools/demo --imdb` with
 * model.precision set), bfloat16 and float16:
 *   a store                                        2^-8, 2^-11 relative at most
 *   gradients of a step of a small dense net       0.28 %, 0.036 % of float32's, by the norm
 *   a step from the same state as Keras's          1 %, 0.1 % of a tensor's largest number
 *   the same of convolutions                       6 %, 0.5 %
 *   test accuracy of the film reviews, 3 epochs    91.73 %, 91.72 %; float32 91.72 %
 *
 * A program has one type for all activations (kernels/storage.cl), a build option. The features of a batch
 * are float32 or uint8: the first layer that reads a feature of another type makes a copy. Each type of
 * activations has all integers of 0 .. 255.
 */
#pragma once

#include "model/graph/graph.h"

struct plan;

/* Returns the name of config.model.precision. */
const char *storage_policy(const struct config *config);

/* Sets graph->storage and the types of activations. */
void storage_layout(struct graph *graph);

/* Returns a parameter, float32, in the type of activations: the parameter itself if that type is float32;
 * else a copy, "<node>/<name>". The first call of a pass for a copy adds it to a launch that converts several
 * tensors, before all launches that are appended later; so the copy lives from there on. */
uint32_t storage_copy(struct plan *plan, const struct node *node, const char *name, uint32_t tensor);
/* Makes copies of the features that this node reads; launches appended later read the copies. */
void storage_emit_inputs(struct plan *plan, const struct node *node);
/* Makes a float32 copy of the graph's output; launches appended later read the copy. */
void storage_emit_output(struct plan *plan);
