/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints and models in safetensors files, and loading them into a model. A checkpoint holds the whole
 * state. A model holds the parameters alone, and the text of the configuration as "config", so that the file
 * is enough to build the network again. Both have "format", "version", "graph_hash", "layers_hash",
 * "data_hash" (the plan's SHA-256) and "run_id".
 *
 * Crash: a file is written under a temporary name and renamed, and each tensor has a CRC;
 * checkpoint_open_newest() takes the newest file whose bytes are whole.
 */
#pragma once

#include "core/base/paths.h"
#include "model/formats/safetensors.h"
#include "model/model.h"

#include <stdbool.h>

#define CHECKPOINT_FORMAT  "kiln/checkpoint"
#define MODEL_FORMAT       "kiln/model"
#define CHECKPOINT_VERSION "1"

/* Opens the newest checkpoint of a run in the spool that is not damaged, and writes the path of its file to
 * `path`. Removes each newer, damaged checkpoint and calls `damaged` with its name in the spool. Errors:
 * -ENOENT the spool has no undamaged checkpoint of the run. */
MUST_CHECK int
checkpoint_open_newest(const char *run_id,
		       void (*damaged)(const char *run_id, const char *name, const struct error *err),
		       char path[static PATH_BYTES], struct safetensors **ret_file, struct error *err);

/* Checks a value of the file's metadata. `path` names the file in errors. Errors: -EINVAL the value differs;
 * the text names the found and the expected value. */
MUST_CHECK int checkpoint_expect(const char *path, const struct safetensors *file, const char *key,
				 const char *expected, struct error *err);

/* Checks the graph hash, or with `parameters_alone` the hash of the layers. The text of the error also names
 * the first tensor that differs. */
MUST_CHECK int checkpoint_expect_graph(const struct model *model, const char *path,
				       const struct safetensors *file, bool parameters_alone,
				       struct error *err);

/* Loads every tensor of the model's state from the file, or its parameters alone. The loss scale is loaded
 * only if the file has one, so that a checkpoint of one model.precision can be loaded with another. Blocks.
 * Errors: -EBADMSG a tensor is missing, has no CRC, or is of another type or shape. */
MUST_CHECK int checkpoint_load(struct model *model, const char *path, const struct safetensors *file,
			       bool parameters_alone, struct error *err);
