/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of a trained model by a name, which is one of these:
 *   a file NAME.safetensors   a finished model, or a checkpoint of a run
 *   a run id                  the run's folder below `sink.url` of a configuration
 *   a folder                  a run's folder, or a folder with model.safetensors
 * A file or folder is a path, or a URL (s3:// or file:///).
 *
 * A run's folder is as kiln-uploadd writes it: model/model.safetensors, checkpoints/, plan, run.json.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"

#include <stdbool.h>

/* Returns whether a name has the form of a run id, NAME-YYYYMMDD-HHMMSS, and is not the name of a file or
 * folder here. */
bool locate_is_run(const char *name);
/* Returns whether a name can be a model for locate_model() by its form: a run id, a URL, a folder, or
 * NAME.safetensors. */
bool locate_is_model(const char *name);

/* Reads the file. `where`: as for location_open(), but its url is the sink of run ids. *ret_folder is the
 * store of the file's folder. Owns: the caller closes *ret_folder, also after an error, and frees *ret_data.
 * Errors: those of whole_get(); -ENOENT there is no such file; for a run without a finished model the text
 * names the run's newest checkpoint. */
MUST_CHECK int locate_model(const char *name, const struct config_store *where, struct store **ret_folder,
			    char **ret_data, uint64_t *ret_bytes, struct error *err);

/* Opens a folder of the run that has `folder` directly below it: `tail` is "" for the run's own folder, or
 * "model/". Errors: those of a store. */
MUST_CHECK int locate_in_run(const struct store *folder, const struct config_store *where, const char *tail,
			     struct store **ret_store, struct error *err);
