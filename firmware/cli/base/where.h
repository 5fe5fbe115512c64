/* SPDX-License-Identifier: Apache-2.0 */
/* A store as options name it: --endpoint, --region, --credential, --ca-file, and --config for the rest. */
#pragma once

#include "core/config/config.h"

/* Fills the empty members of `options` from a configuration. An option wins over the file. */
void where_merge(struct config_store *options, const struct config_store *config);
