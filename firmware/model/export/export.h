/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firmware/model/export: trained models in forms that other tools load: ONNX (ir_version 8, operator set 17)
 * and TensorFlow's SavedModel with frozen weights, tag "serve", signature "serving_default". The inputs of
 * both have the names of the features, are float32, int64 or uint8, and may have any number of rows. The
 * output has the name of the last layer's output. A ragged feature has two int64 inputs: "<name>/values" [n],
 * where values after the last split are ignored, and "<name>/splits" [rows + 1].
 *
 * Both say what the model knows of its data (model/export/about.h): ONNX in metadata_props, a SavedModel in
 * any_info of the meta graph, as a google.protobuf.Struct of texts.
 *
 * Two tables make this work. Each layer describes itself in the operations of export_ops.h; each form
 * (onnx.c, saved_model.c) can write every operation as protocol buffers. So a new layer or a new form needs
 * only one new file. Sources: onnx.proto and the operators' documents of onnx.ai; tensorflow's
 * saved_model.proto, meta_graph.proto, graph.proto, attr_value.proto.
 *
 * Threads: none; one call makes the whole file in memory. Owners: the caller owns the bytes and writes the
 * file. Crash: nothing is on the disk yet.
 */
#pragma once

#include "model/export/about.h"
#include "model/formats/model_tensor.h"
#include "model/graph/graph.h"

enum export_form { EXPORT_ONNX, EXPORT_SAVED_MODEL, EXPORT_FORMS };

/* Returns the name of a form: "onnx" or "saved_model". */
const char *export_name(enum export_form form);
/* Returns the file's name: "model.onnx" or "saved_model/1/saved_model.pb". TensorFlow Serving expects a
 * version number as the folder. */
const char *export_file(enum export_form form);

/* The numbers of a network: parameters and state of its layers. Other tensors in the list are not used. */
struct export_weights {
	const struct model_tensor *tensor; /* with data */
	uint32_t count;
};

/* Makes the file of a form. `graph` is built without training. `about` may be NULL. Owns: the caller frees
 * *ret_data. Errors: -E2BIG the file is larger than protocol buffers allow (2 GiB); -EBADMSG a tensor of the
 * weights is missing or is of another type or shape than in `graph` (formats/expect.h); -ENOMEM. */
MUST_CHECK int export_model(const struct graph *graph, const struct export_weights *weights,
			    const struct about *about, enum export_form form, uint8_t **ret_data,
			    uint64_t *ret_bytes, struct error *err);
