/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/stores.h"

#define ATTEMPTS 2u

int preflight_store_open(const struct preflight *preflight, const struct config_store *where,
			 struct store **ret_store, struct error *err)
{
	struct store_options options = store_options_of(preflight->config);

	options.attempts_max = ATTEMPTS;
	options.patience_ms = 0;
	options.deadline_us = preflight->deadline_us;
	return store_open(where, &options, ret_store, err);
}
