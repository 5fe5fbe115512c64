/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained network in a file: a finished model, which holds the parameters and the text of its
 * configuration, or a checkpoint, whose configuration is in the run's record. The network is built again from
 * the configuration.
 *
 * The file may come from anywhere. It is checked here, once, for every program that opens a trained network:
 * after model_file_build() each parameter has the type and the shape that the network of the configuration
 * expects, so the data of the parameters may be read with the sizes of the graph.
 *
 * Order: model_file_open -> model_file_build -> read -> model_file_done. Threads: none. Owners: the caller
 * owns the bytes, which must outlive the model file. The struct must not be moved, because `graph` points to
 * `config`.
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

/* Reads a file from memory; `what` names it in errors and must outlive the model file. ret_model must be
 * zeroed; the caller calls model_file_done() even after an error. Errors: -EBADMSG the bytes are not a
 * safetensors file, or a tensor has no CRC; -EINVAL the format is neither that of a model nor that of a
 * checkpoint. */
MUST_CHECK int model_file_open(const char *what, const void *data, uint64_t bytes,
			       struct model_file *ret_model, struct error *err);
/* Returns whether the file is a checkpoint. */
bool model_file_is_checkpoint(const struct model_file *model);
/* Builds the network and checks the tensors. `config`: the text of the configuration; NULL: the text in the
 * file. Errors: -EBADMSG the file holds no configuration, or tensors that are not those of the network;
 * -EINVAL the configuration is wrong, or it is that of another network than the file says. The text names
 * what was found and what was expected. */
MUST_CHECK int model_file_build(const char *what, const char *config, struct model_file *model,
				struct error *err);
void model_file_done(struct model_file *model);
