/* SPDX-License-Identifier: Apache-2.0 */
/* A form: how operations and constants are written as protocol buffers. Only files of this folder include it.
 */
#pragma once

#include "model/export/export_ops.h"
#include "model/formats/wire.h"

struct export_writer {
	/* node() writes an operation, constant() a constant. */
	void (*node)(struct wire *graph, const struct export_node *node);
	void (*constant)(struct wire *graph, const struct export_constant *constant);
	/* Writes an input of the model: [rows, shape...]. */
	void (*input)(struct wire *graph, const struct tensor *tensor);
	/* Called after all nodes: writes the model's output and everything else at the end of a graph. */
	void (*output)(struct wire *graph, const struct tensor *tensor);
	/* Writes the whole file, with what is not NULL in `about`; calls `fill` to write the graph into it.
	 */
	void (*file)(struct wire *file, const struct graph *graph, const struct about *about,
		     void (*fill)(struct wire *graph, const void *context), const void *context);
};

extern const struct export_writer export_onnx, export_saved_model;

/* An export in progress, to which layers write. */
struct export
{
	struct wire *wire;
	const struct graph *graph;
	const struct export_writer *writer;
	const struct export_weights *weights;
	char bytes[GRAPH_INPUTS_MAX][EXPORT_NAME_BYTES]; /* names of the features of uint8 as float32 */
};

/* Returns the bytes of a constant's data. */
uint64_t export_constant_bytes(const struct export_constant *constant);
