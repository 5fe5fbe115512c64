/* SPDX-License-Identifier: Apache-2.0 */
/* The stores of the preflight: a server that does not answer is given up after seconds, and not after the
 * minutes that a night would wait, and at the preflight's deadline. Private to preflight. */
#pragma once

#include "drivers/store/store.h"
#include "preflight/preflight.h"

struct store_options preflight_store_options(const struct preflight *preflight);
/* Opens a store with these options. */
MUST_CHECK int preflight_store_open(const struct preflight *preflight, const struct config_store *where,
				    struct store **ret_store, struct error *err);
