/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model, for the verbs that open one. The user names a run's model folder or the model.safetensors
 * in it, by a path or by a URL (s3:// or file:///).
 *
 * The other files of this folder read the records for these verbs (records_source.h, shards.h, records.h,
 * lines.h, features.h, columns.h) and print the answers (answer.h, confusion.h, predict.h). One thread. The
 * code writes no files of its own, so a crash loses nothing.
 *
 * A model may come from anywhere. Its configuration says what the network is, but never to whom the verb
 * sends a request or with which credential: only the options and kiln.conf do (trained_source()).
 *
 * Order: trained_read -> trained_load -> trained_open_model -> trained_done.
 */
#pragma once

#include "cli/base/arguments.h"
#include "core/base/json.h"
#include "core/config/config.h"
#include "drivers/store/store.h"
#include "model/model_file.h"

#include <stdbool.h>

struct trained {
	const char *name, *config_file; /* the values of MODEL and --config */
	bool json;
	/* endpoint, region, credential, ca_file: of the options, then of --config; the same as the options
	 * alone give them */
	struct config_store where, options;
	struct store *folder;    /* the store of the folder with the model's file; for a checkpoint that of
				    the run's folder `model`, which has the encoder and dataset.json */
	char *data;              /* the bytes of the model's file */
	struct model_file saved; /* the model in the file, with its configuration */
	struct config given;     /* the file of --config, else the box's kiln.conf where it can be read
				    (any_given); the strings of `where` may belong to it */
	bool any_given;
	struct gpu *gpu; /* NULL before trained_open_model() */
	struct model *model;
};

/* How a verb's page describes MODEL. */
#define TRAINED_MODEL                                                                                      \
	"MODEL is a run id, the folder of a run, the model.safetensors or the folder with it, or a "       \
	"checkpoint; a folder and a file are a path or an s3:// or file:/// URL. A run id stands for the " \
	"run's folder below sink.url. A checkpoint ckpt-STEP.safetensors must lie in its run's folder, "   \
	"because run.json there has its configuration."

/* The operand MODEL, for verbs that have no other operand. */
extern const struct verb_operand trained_operands[];
/* The option --config. The row of every verb that opens a trained model has this list and where_options. */
extern const struct verb_option trained_options[];

/* Sets name, config_file, where and json from the arguments of a verb. The verb's row must have MODEL as its
 * first operand, and the options --json, trained_options and where_options. */
void trained_read(struct trained *trained, const struct arguments *arguments);

/* Reads the model `trained->name` and its configuration. Errors: those of a store; -EBADMSG and -EINVAL with
 * the file and what is wrong in it. */
MUST_CHECK int trained_load(struct trained *trained, struct error *err);
/* Loads the model onto the device that its configuration names or, where this machine lacks that device, onto
 * any other device. `training`: the model must also compute its loss (model_evaluate()). */
MUST_CHECK int trained_open_model(struct trained *trained, bool training, struct error *err);
/* Reads dataset.json beside the model, which has the names of the classes. Without this file they are those
 * in the model, if it has any; else *ret_dataset stays NULL. Owns: the caller frees it. Errors: those of a
 * store; -EBADMSG the file, or the text in the model, is not JSON. */
MUST_CHECK int trained_dataset(const struct trained *trained, cJSON **ret_dataset, struct error *err);
/* Finds how to reach the source `index` of the model, for its shards: a folder as it is; with one of the
 * options for a store the model's url with these options; else the store of kiln.conf that has this url; else
 * the model's own store, where a store of kiln.conf has the same server and credential. *ret_store has
 * strings of `trained`. Errors: -EPERM there is no such store; the text says what to give. */
MUST_CHECK int trained_source(const struct trained *trained, uint32_t index, struct config_store *ret_store,
			      struct error *err);
void trained_done(struct trained *trained);

/* Opens the device that a configuration names or, where this machine lacks it, any device, and says so:
 * `which` ends "the device that". Call trained_find_cache() before. Errors: those of gpu_open(). */
MUST_CHECK int trained_open_device(const struct config *config, const char *which, struct gpu **ret_gpu,
				   struct error *err);

/* Moves the folder of compiled kernels to a place where this user may write: sets KILN_ROOT, and so moves all
 * other paths, too, unless it is set already or this user may write to the box's own folder. */
void trained_find_cache(void);
