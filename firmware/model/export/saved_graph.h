/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SavedModel: the GraphDef, whose nodes saved_graph.c writes, and the file around it with the signature
 * (saved_model.c). Enums in both are field numbers of tensorflow's saved_model.proto, meta_graph.proto,
 * graph.proto, node_def.proto, attr_value.proto, tensor.proto and tensor_shape.proto. A function fill_X()
 * writes message X, for wire_message(). Weights are Const nodes, so there is no variables folder.
 */
#pragma once

#include "model/export/form.h"

/* Fields of an entry of a map. */
enum { MAP_KEY = 1, MAP_VALUE = 2 };

/* Returns the DataType of a tensor's numbers. */
uint64_t saved_type(enum dtype dtype);

/* Writes the shape of an input or output, a `struct tensor`. The first dimension is -1: any number of rows,
 * of ragged values or of splits. */
void saved_fill_batch_shape(struct wire *wire, const void *context);

/* Writes the name of a node. TensorFlow allows [A-Za-z0-9.][A-Za-z0-9_.\\/-]*, but features may have any
 * name: a byte that is not allowed becomes "xHH", its value in hexadecimal. The signature has the true names.
 */
void saved_name(struct wire *wire, uint32_t field, const char *name, const char *suffix);

/* Functions of struct export_writer. */
void saved_node(struct wire *graph, const struct export_node *node);
void saved_constant(struct wire *graph, const struct export_constant *constant);
void saved_input(struct wire *graph, const struct tensor *tensor);
void saved_output(struct wire *graph, const struct tensor *tensor);
