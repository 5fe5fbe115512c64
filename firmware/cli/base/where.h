/* SPDX-License-Identifier: Apache-2.0 */
/* How to reach the object store that a verb opens: the options --endpoint, --region, --credential and
 * --ca-file. */
#pragma once

#include "cli/base/arguments.h"
#include "core/config/config.h"

/* The options above. The row of every verb that opens a store has this list. */
extern const struct verb_option where_options[];

/* Sets endpoint, region, credential and ca_file from the options, "" where an option is not given, and sets
 * url to "". The strings belong to the arguments. */
void where_read(struct config_store *where, const struct arguments *arguments);
