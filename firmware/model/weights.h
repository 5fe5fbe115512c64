/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting weights from a file of named tensors (config.model.weights): transfer learning. As Keras's
 * load_weights(by_name = True): a layer's parameters and state take the tensors of the same name and shape;
 * everything else, on either side, stays as it is. The file may be a checkpoint or a model of Kiln, or
 * another program's file of float16, bfloat16, float32 or float64.
 *
 * Order: weights_match, before there is a device or after model_init() -> weights_load -> weights_done.
 */
#pragma once

#include "model/formats/safetensors.h"

struct graph;

#define WEIGHTS_NAMES_BYTES 1024u

struct weights_pair {
	const char *name; /* the graph's name */
	struct model_tensor from;
};

struct weights {
	uint32_t matched, wanted; /* tensors: with a partner in the file, and of all layers */
	struct weights_pair *pair;
	char initial[WEIGHTS_NAMES_BYTES]; /* layers, and single tensors, that start from initial numbers */
	char unused[WEIGHTS_NAMES_BYTES];  /* tensors of the file that no layer has; both lists are cut with
					      "..." */
};

/* Notes the names of config.model.weights_layers that no layer with parameters has. */
void weights_check(const struct graph *graph, struct mistakes *mistakes);

/* Matches the tensors of the file with the graph's layers; `what` names the file in errors. Names point into
 * the graph, data into the file: both must outlive ret_weights. Errors: -EINVAL a tensor has another shape,
 * which the text names, unless config.model.weights_skip_mismatch; or no tensor fits at all, or none of a
 * layer that config.model.weights_layers names. -EBADMSG a tensor is of no float type, or one of Kiln's own
 * files has no CRC. */
MUST_CHECK int weights_match(const struct graph *graph, const char *what, const struct safetensors *file,
			     struct weights *ret_weights, struct error *err);
/* Writes the matched tensors into the model. Blocks. Errors: -EBADMSG a number is NaN or infinite, or is out
 * of the range of float32. */
MUST_CHECK int weights_load(struct model *model, const char *what, const struct weights *weights,
			    struct error *err);
/* Writes a summary: "4 of 6 tensors; dense_2 as initialized; not used: head/kernel". */
#define WEIGHTS_TEXT_BYTES (2 * WEIGHTS_NAMES_BYTES + 128u)
const char *weights_text(const struct weights *weights, char out[static WEIGHTS_TEXT_BYTES]);
void weights_done(struct weights *weights);
