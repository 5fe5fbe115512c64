/* SPDX-License-Identifier: Apache-2.0 */
/* The object store that a verb opens: the options --endpoint, --region, --credential and --ca-file, and the
 * path or URL of an object. */
#pragma once

#include "cli/base/arguments.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

/* The options above. The row of every verb that opens a store has this list. */
extern const struct verb_option where_options[];

/* Sets endpoint, region, credential and ca_file from the options, "" where an option is not given, and sets
 * url to "". The strings belong to the arguments. */
void where_read(struct config_store *where, const struct arguments *arguments);
/* Fills the empty members of `options` with the values of a configuration, so that an option of the command
 * line overrides the configuration. */
void where_merge(struct config_store *options, const struct config_store *config);

/* Returns true for s3://... and file://...; every other name is a path on this machine. */
bool where_is_url(const char *name);
/* Opens the store that holds the object with the path or URL `name`. *ret_key is the object's key in the
 * store, and points into `name`. `where`: endpoint, region and credentials; its url is ignored. Errors: those
 * of a store; -errno where the folder of the path does not exist. */
MUST_CHECK int where_open(const struct config_store *where, const char *name, struct store **ret_store,
			  const char **ret_key, struct error *err);
