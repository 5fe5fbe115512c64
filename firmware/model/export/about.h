/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a finished model says of its data, in model.safetensors and in its exports: two texts, each JSON on
 * one line.
 *
 *   schema   the features with all their keys, as `kiln config show --json` prints them: of a picture its
 *            height and width, interpolation, antialias and fit
 *   classes  the names of the classes, in the order of the outputs
 *
 * Threads: none. Owners: about_done() frees the texts.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

struct about {
	char *schema;
	char *classes; /* NULL: the classes have no names */
};

/* The names of the texts in a file. */
#define ABOUT_SCHEMA  "schema"
#define ABOUT_CLASSES "classes"

/* `dataset`: what dataset.json beside the model says, which may have the member "classes"; NULL: there is no
 * such file. ret_about must be zeroed; the caller calls about_done() even after an error. Errors: -ENOMEM. */
MUST_CHECK int about_make(const struct config *config, const cJSON *dataset, struct about *ret_about,
			  struct error *err);
void about_done(struct about *about);
