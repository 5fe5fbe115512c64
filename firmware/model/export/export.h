/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trained models in the forms that others load: ONNX (ir_version 8, operators of version 17) and TensorFlow's
 * SavedModel with frozen weights, tag "serve", signature "serving_default". Both take float32 or int64
 * batches of any number of rows under the names of the features, and give the last layer's output under its
 * name. A ragged feature is two inputs, int64: "<name>/values" [n], whatever is behind the last split, and
 * "<name>/splits" [rows + 1].
 *
 * Each row of the op table says what its layer is in the few operations of model/export/export_ops.h; a form
 * is a way to write those down. Sources: onnx.proto and the operators' documents of onnx.ai; tensorflow's
 * saved_model.proto, meta_graph.proto, graph.proto, attr_value.proto.
 */
#pragma once

#include "model/graph/graph.h"

enum export_form { EXPORT_ONNX, EXPORT_SAVED_MODEL, EXPORT_FORMS };

/* "onnx", "saved_model"; and what the file is called: "model.onnx", "saved_model/1/saved_model.pb", the
 * number being the version that TensorFlow Serving looks for. */
const char *export_name(enum export_form form);
const char *export_file(enum export_form form);

/* A parameter's or a state's numbers, as many as its tensor has, by the tensor's name. */
typedef const void *export_weights(void *context, const char *name);

/* `graph` is built without training. ret_data is malloc'ed. Errors: -E2BIG a file larger than protocol
 * buffers can be (2 GiB); -ENOENT weights are missing; -ENOMEM. */
MUST_CHECK int export_model(const struct graph *graph, export_weights *weights, void *context,
			    enum export_form form, uint8_t **ret_data, uint64_t *ret_bytes,
			    struct error *err);
