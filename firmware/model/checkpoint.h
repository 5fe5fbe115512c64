/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Kiln writes into safetensors files, and how it comes back into a model. A checkpoint holds the whole
 * state; a model the parameters alone, and the configuration's text as "config", so that the file is enough
 * to build the network again. Both carry "format", "version", "graph_hash", "layers_hash", "data_hash" (the
 * plan's SHA-256) and "run_id".
 */
#pragma once

#include "core/base/paths.h"
#include "model/formats/safetensors.h"

#include <stdbool.h>

#define CHECKPOINT_FORMAT  "kiln/checkpoint"
#define MODEL_FORMAT       "kiln/model"
#define CHECKPOINT_VERSION "1"

/* The newest checkpoint of a run in the spool whose bytes are whole, and its path. Each newer one, damaged,
 * is told to `damaged` and removed;
 * `name` is its name in the spool. Errors: -ENOENT there is none. */
MUST_CHECK int
checkpoint_open_newest(const char *run_id,
		       void (*damaged)(const char *run_id, const char *name, const struct error *err),
		       char path[static PATH_BYTES], struct safetensors **ret_file, struct error *err);

/* -EINVAL with found and expected unless the metadata has this value. `path` names the file in errors. */
MUST_CHECK int checkpoint_expect(const char *path, const struct safetensors *file, const char *key,
				 const char *expected, struct error *err);

/* The same for the graph hash, or with `parameters_alone` for that of the layers; the text also names the
 * first tensor that differs. */
MUST_CHECK int checkpoint_expect_graph(const struct model *model, const char *path,
				       const struct safetensors *file, bool parameters_alone,
				       struct error *err);

/* Every tensor of the model's state, or its parameters alone, from the file; the loss scale where it has one:
 * a checkpoint moves from one model.precision to another. Blocks. Errors: -EBADMSG one is missing, has no
 * CRC, or is of another type or shape. */
MUST_CHECK int checkpoint_load(struct model *model, const char *path, const struct safetensors *file,
			       bool parameters_alone, struct error *err);
