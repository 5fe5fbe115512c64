/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a store for the preflight: a server that does not answer is given up after seconds, and not after the
 * minutes that a night would wait. Private to preflight. */
#pragma once

#include "drivers/store/store.h"

MUST_CHECK int preflight_store_open(const struct config *config, const struct config_store *where,
				    struct store **ret_store, struct error *err);
