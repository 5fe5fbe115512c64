/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting weights from a file of named tensors, config.model.weights: transfer learning. As Keras's
 * load_weights(by_name = True): a layer's parameters, and the statistics it keeps, take the tensors of the
 * same name and shape; whatever else there is on either side stays as it is. The file may be a checkpoint or
 * a model of Kiln, or anybody's float16, bfloat16, float32 or float64.
 *
 * Order: weights_match, before there is a device or behind model_init() -> weights_load -> weights_done.
 */
#pragma once

#include "model/formats/safetensors.h"

struct graph;

#define WEIGHTS_NAMES_BYTES 1024u

struct weights_pair {
	const char *name; /* the graph's */
	struct model_tensor from;
};

struct weights {
	uint32_t taken, wanted; /* tensors; `wanted`: of all layers */
	struct weights_pair *pair;
	char kept[WEIGHTS_NAMES_BYTES];   /* layers that keep their initial numbers, and tensors of others */
	char unused[WEIGHTS_NAMES_BYTES]; /* the file's; both are cut with "..." */
};

/* Note which names of config.model.weights_layers no layer has, or one without parameters. */
void weights_check(const struct graph *graph, struct mistakes *mistakes);

/* Which tensors the graph's layers take; `what` names the file in errors. Names and data stay the graph's and
 * the file's. Errors: -EINVAL a tensor of another shape, both are named, unless
 * config.model.weights_skip_mismatch; no tensor fits at all, or none of a layer that
 * config.model.weights_layers names. -EBADMSG a tensor is of no float type; one of Kiln's files lost a CRC.
 */
MUST_CHECK int weights_match(const struct graph *graph, const char *what, const struct safetensors *file,
			     struct weights *ret_weights, struct error *err);
/* Blocks. Errors: -EBADMSG a number is NaN or infinite, or not within float32. */
MUST_CHECK int weights_load(struct model *model, const char *what, const struct weights *weights,
			    struct error *err);
/* "4 of 6 tensors; dense_2 as initialized; not used: head/kernel". */
#define WEIGHTS_TEXT_BYTES (2 * WEIGHTS_NAMES_BYTES + 128u)
const char *weights_text(const struct weights *weights, char out[static WEIGHTS_TEXT_BYTES]);
void weights_done(struct weights *weights);
