/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on features. A frozen base network (config.model.base) has computed the features of all pictures
 * once, and a run on them trains the layers after the base alone: the head (config.model.features_of). Beside
 * the features lies the file of the base: its tensors, and the configuration whose pictures it read. The run
 * names this file as model.weights, so it comes with the run to every machine, under its SHA-256.
 *
 * The finished model of such a run joins base and head. It has the configuration and the tensors of a model
 * that was trained with its base, so every program that opens a model reads pictures with it.
 *
 * Order: features_write_base, before the run. In it: features_open -> features_tensors -> features_done.
 * Threads: none. Owners: the file and the run's configuration must outlive a struct features, which must not
 * be moved, because `graph` points to `config`. Crash: the file of the base is written whole or not at all.
 */
#pragma once

#include "core/config/config.h"
#include "model/formats/safetensors.h"
#include "model/graph/graph.h"
#include "model/weights.h"

#define FEATURES_FORMAT    "kiln/base"
#define FEATURES_VERSION   "1"
#define FEATURES_BASE_FILE "base.safetensors"
/* In the metadata of a finished model that was trained on features: the name of its base. */
#define FEATURES_NOTE "features_of"

/* Writes the base of a configuration to a file, as float32. Tensors that `weights` lacks have their initial
 * numbers, from run.seed. The file also has the tensors that `weights` has for the head, so that a run on
 * features starts as one with the base does. `what` names the file of the weights in errors; `weights` is
 * matched with the whole graph, NULL = none. The same arguments give the same bytes. Errors: those of
 * graph_build_base(), numbers_at() and safetensors_write(). */
MUST_CHECK int features_write_base(const struct config *config, const struct weights *weights,
				   const char *what, const char *path, struct error *err);

struct features {
	const struct safetensors *file;
	char *text;           /* the configuration of the finished model */
	struct config config; /* the same, loaded; its precision is float32, as that of every stored model */
	struct graph graph;   /* base and head, built without training */
};

/* Joins the configuration of a run on features with the file of its base; `what` names the file in errors.
 * *ret_features must be zeroed; call features_done() even after an error. Errors: -EINVAL the file is no
 * base, or another one than model.features_of, or its output is not the feature model.input, or base and head
 * are no network together; -EBADMSG the file lacks a tensor or a CRC. */
MUST_CHECK int features_open(const struct config *run, const char *what, const struct safetensors *file,
			     struct features *ret_features, struct error *err);
/* Checks all that features_open() checks; a configuration without model.features_of is good. */
MUST_CHECK int features_check(const struct config *run, const char *what, const struct safetensors *file,
			      struct error *err);
/* Lists the tensors of the finished model: those of the head from `head`, which has data, the others from the
 * file. The caller frees *ret_tensors; names and data belong to `features` and `head`. Errors: -ENOMEM;
 * -EBADMSG a tensor is neither here nor there. */
MUST_CHECK int features_tensors(const struct features *features, const struct model_tensor *head,
				uint32_t count, struct model_tensor **ret_tensors, uint32_t *ret_count,
				struct error *err);
void features_done(struct features *features);
