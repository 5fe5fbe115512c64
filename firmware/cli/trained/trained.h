/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trained model, for the verbs that open one: a run's model folder or the model.safetensors in it, by its
 * path or below s3:// or file:///.
 *
 * This folder also holds the records that such a verb reads (records_source.h, shards.h, records.h, lines.h,
 * features.h, columns.h) and the answers that it prints (answer.h, predict.h). One thread. Nothing is written
 * here, so a crash loses nothing.
 *
 * Order: trained_read -> trained_load -> trained_open_model -> trained_done.
 */
#pragma once

#include "cli/base/arguments.h"
#include "core/config/config.h"
#include "drivers/store/store.h"
#include "model/formats/safetensors.h"

#include <stdbool.h>

struct trained {
	const char *name, *config_file; /* as given */
	bool json;
	struct config_store where; /* endpoint, region, credential, ca_file */
	struct store *folder;      /* holds the model's file */
	char *data;                /* the model's file */
	struct safetensors *file;
	struct config given;  /* --config; `where` points into it */
	struct config config; /* the model was trained with it; precision is float32 */
	struct gpu *gpu;      /* NULL before trained_open_model() */
	struct model *model;
};

/* MODEL, for verbs without other operands. */
extern const struct verb_operand trained_operands[];
/* --config; a verb that opens a trained model has this list and where_options in its row. */
extern const struct verb_option trained_options[];

/* Sets name, config_file, where and json from arguments whose row has MODEL as the first operand, --json,
 * trained_options and where_options. */
void trained_read(struct trained *trained, const struct arguments *arguments);

/* Reads the model called `trained->name` and its configuration. Errors: those of a store; -EBADMSG and
 * -EINVAL name the file and what is wrong with it. */
MUST_CHECK int trained_load(struct trained *trained, struct error *err);
/* Loads the model onto the device of its configuration or, where this machine lacks it, onto another.
 * `training`: the model can also compute its loss (model_evaluate()). */
MUST_CHECK int trained_open_model(struct trained *trained, bool training, struct error *err);
void trained_done(struct trained *trained);
