/* SPDX-License-Identifier: Apache-2.0 */
/* A store as options name it: --endpoint, --region, --credential and --ca-file. */
#pragma once

#include "cli/base/arguments.h"
#include "core/config/config.h"

/* A list of the row of every verb that opens a store. */
extern const struct verb_option where_options[];

/* Sets the members of the four options, "" where one is not given; url becomes "". The texts stay the
 * arguments'. */
void where_read(struct config_store *where, const struct arguments *arguments);
/* Fills the empty members of `options` from a configuration. An option wins over the file. */
void where_merge(struct config_store *options, const struct config_store *config);
