/* SPDX-License-Identifier: Apache-2.0 */
/* The path or URL of an object, as a person gives it, and the store that it lies in. */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"

/* Fills the empty members of `options` with the values of a configuration, so that an option of the command
 * line overrides the configuration. */
void location_merge(struct config_store *options, const struct config_store *config);

/* Returns true for s3://..., lakefs://... and file://...; every other name is a path on this machine. */
bool location_is_url(const char *name);
/* Opens the store that holds the object with the path or URL `name`. *ret_key is the object's key in the
 * store, and points into `name`. `where`: endpoint, region and credentials; its url is ignored. Errors: those
 * of a store; -errno where the folder of the path does not exist. */
MUST_CHECK int location_open(const struct config_store *where, const char *name, struct store **ret_store,
			     const char **ret_key, struct error *err);
