/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finished model as kiln-traind writes it: the file model.safetensors with the parameters, and the text of
 * the configuration in its metadata, from which the network is built again.
 *
 * The file may come from anywhere. It is checked here, once, for every program that opens a model: after
 * model_file_load() each tensor has the type and the shape that the network of the configuration expects, so
 * the data of the tensors may be read with the sizes of the graph.
 *
 * Order: model_file_load -> read -> model_file_done. Threads: none. Owners: the caller owns the bytes, which
 * must outlive the model file. The struct must not be moved, because `graph` points to `config`.
 */
#pragma once

#include "core/config/config.h"
#include "model/formats/safetensors.h"
#include "model/graph/graph.h"

struct model_file {
	struct safetensors *file;
	struct config config; /* that of the run, except that precision is float32 */
	struct graph graph;   /* built without training */
};

/* Reads a model from memory; `what` names it in errors and must outlive the model file. ret_model must be
 * zeroed; the caller calls model_file_done() even after an error. Errors: -EBADMSG the bytes are not a
 * safetensors file, hold no configuration, or have a tensor without CRC, or tensors that are not those of the
 * network; -EINVAL the format is not that of a model, or the configuration is wrong, or it is that of another
 * network than the file says. The text names what was found and what was expected. */
MUST_CHECK int model_file_load(const char *what, const void *data, uint64_t bytes,
			       struct model_file *ret_model, struct error *err);
void model_file_done(struct model_file *model);
