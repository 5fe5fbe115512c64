/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that tensors, most of all those of a file, have the names, types and shapes that a graph expects.
 * Code that reads the data of tensors with the sizes of a graph relies on this check: checkpoint_load(),
 * model_file_build() and export_model().
 */
#pragma once

#include "model/formats/model_tensor.h"
#include "model/graph/graph.h"

enum expect {
	EXPECT_STATE,      /* the whole state, as in a checkpoint. The loss scale may be missing, because a
			      checkpoint of another precision has none. Other tensors are allowed */
	EXPECT_PARAMETERS, /* parameters and state of layers. Other tensors are allowed */
	EXPECT_MODEL,      /* parameters and state of layers, and no other tensor */
};

/* Checks `count` tensors against a graph. `what` names the file in errors. Errors: -EBADMSG a tensor is
 * missing, or is of another type or shape, or, with EXPECT_MODEL, is not one of the graph; the text names the
 * tensor, what was found and what was expected. */
MUST_CHECK int expect_tensors(const struct graph *graph, enum expect expect, const char *what,
			      const struct model_tensor *found, uint32_t count, struct error *err);

/* Checks one tensor: type and shape must be those of `wanted`. `found` is NULL if the file lacks the tensor.
 * Errors: as above; the text has the name of `wanted`. */
MUST_CHECK int expect_form(const char *what, const struct model_tensor *wanted,
			   const struct model_tensor *found, struct error *err);
