/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a source or the sink of a configuration, with the options of this configuration. */
#pragma once

#include "core/config/config.h"
#include "drivers/store/store.h"

/* `which` is &config->sink, or the store of one of config->source. The caller closes *ret_store. */
MUST_CHECK int configured_store_open(const struct config *config, const struct config_store *which,
				     struct store **ret_store, struct error *err);
