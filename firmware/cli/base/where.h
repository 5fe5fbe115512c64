/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a verb: --endpoint, --region, --credential and --ca-file, and the path or URL of an object. */
#pragma once

#include "cli/base/arguments.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

/* A list of the row of every verb that opens a store. */
extern const struct verb_option where_options[];

/* Sets the members of the four options, "" where one is not given; url becomes "". The texts stay the
 * arguments'. */
void where_read(struct config_store *where, const struct arguments *arguments);
/* Fills the empty members of `options` from a configuration. An option wins over the file. */
void where_merge(struct config_store *options, const struct config_store *config);

/* True for s3://... and file://...; else the name is a path on this machine. */
bool where_is_url(const char *name);
/* Opens the store that holds an object, by the object's path or URL, and yields the key in that store. The
 * key points into `name`. `where` has all but the url. Errors: those of a store; errnos of the folder of a
 * path. */
MUST_CHECK int where_open(const struct config_store *where, const char *name, struct store **ret_store,
			  const char **ret_key, struct error *err);
