/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting weights from a file of named tensors (config.model.weights): transfer learning. As Keras's
 * load_weights(by_name = True): the parameters and state of a layer are loaded from the tensors of the same
 * name and shape; other parameters keep their initial numbers, and other tensors of the file are ignored. The
 * file may be a checkpoint or a model of Kiln, or another program's file of float16, bfloat16, float32 or
 * float64.
 *
 * Order: weights_match, before there is a device or after model_init() -> weights_load -> weights_done.
 */
#pragma once

#include "model/formats/safetensors.h"
#include "model/model.h"

struct graph;

#define WEIGHTS_NAMES_BYTES 1024u

struct weights_pair {
	const char *name; /* name of the tensor in the graph */
	struct model_tensor from;
};

struct weights {
	uint32_t matched, wanted; /* how many tensors of the layers the file has; how many the layers have */
	struct weights_pair *pair;
	char initial[WEIGHTS_NAMES_BYTES]; /* names of layers and tensors that start from initial numbers */
	char unused[WEIGHTS_NAMES_BYTES];  /* names of tensors in the file that no layer has; a list that is
					      too long ends with "..." */
};

/* Notes the names of config.model.weights_layers that no layer with parameters has. */
void weights_check(const struct graph *graph, struct mistakes *mistakes);

/* Matches the tensors of the file with the graph's layers; `what` is the name of the file in errors.
 * ret_weights points to names in the graph and to data in the file, so both must outlive it. Errors: -EINVAL
 * a tensor has another shape, unless config.model.weights_skip_mismatch is set (the text names the shape); or
 * no tensor at all fits, which is right with config.model.features_of alone; or no tensor fits a layer in
 * config.model.weights_layers; or the file's weights belong to another model.base_scaling (convert.h).
 * -EBADMSG a tensor does not have a type of floats, or a tensor in a file of Kiln has no CRC. */
MUST_CHECK int weights_match(const struct graph *graph, const char *what, const struct safetensors *file,
			     struct weights *ret_weights, struct error *err);
/* Writes the matched tensors into the model. Blocks. Errors: -EBADMSG a number is NaN or infinite, or is out
 * of the range of float32. */
MUST_CHECK int weights_load(struct model *model, const char *what, const struct weights *weights,
			    struct error *err);
/* Writes a summary: "4 of 6 tensors; dense_2 as initialized; not used: head/kernel". */
#define WEIGHTS_TEXT_BYTES (2 * WEIGHTS_NAMES_BYTES + 128u)
const char *weights_text(const struct weights *weights, char out[static WEIGHTS_TEXT_BYTES]);
/* Whether the file has the tensor of the graph with this name; `weights` may be NULL: no file. */
bool weights_have(const struct weights *weights, const char *name);
void weights_done(struct weights *weights);
