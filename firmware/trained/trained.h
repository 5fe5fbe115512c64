/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model, for the programs that open one: a run's model folder or the model.safetensors in it, by a
 * run id, a path or a URL (s3:// or file:///).
 *
 * The other files of this folder find it (locate.h, location.h), and read the records that it is measured on
 * (records_source.h, shards.h, records.h, lines.h, features.h, columns.h, whole.h, whole_shard.h). One
 * thread. The code writes no files of its own, so a crash loses nothing.
 *
 * A model may come from anywhere. Its configuration says what the network is, but never to whom a program
 * sends a request or with which credential: only the members `options` and `given` do (trained_source()).
 *
 * Order: the caller fills name, where, options, given -> trained_load -> trained_open_model -> trained_done.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "drivers/store/store.h"
#include "model/model_file.h"

#include <stdbool.h>

struct trained {
	const char *name;   /* what locate_model() takes */
	const char *sha256; /* the model's file must have it; NULL = any */
	/* endpoint, region, credential, ca_file of the store that has the model; its url is the sink of run
	 * ids. Those that a person gave for the sources, too; "" = none. */
	struct config_store where, options;
	struct store *folder;    /* the store of the folder with the model's file; for a checkpoint that of
				    the run's folder `model`, which has the encoder and dataset.json */
	char *data;              /* the bytes of the model's file */
	struct model_file saved; /* the model in the file, with its configuration */
	struct config given;     /* a configuration that says where requests may go, where there is one
				    (any_given); the strings of `where` may belong to it */
	bool any_given;
	bool unattended; /* the program has no options for its records, such as --data: errors name none */
	struct gpu *gpu; /* NULL before trained_open_model() */
	struct model *model;
};

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
 * `which` ends "the device that". Errors: those of gpu_open(). */
MUST_CHECK int trained_open_device(const struct config *config, const char *which, struct gpu **ret_gpu,
				   struct error *err);
