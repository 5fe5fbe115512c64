/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/stores.h"

#define ATTEMPTS 2u

struct store_options preflight_store_options(const struct preflight *preflight)
{
	struct store_options options = store_options_of(preflight->config);

	options.attempts_max = ATTEMPTS;
	options.patience_ms = 0;
	options.deadline_us = preflight->deadline_us;
	return options;
}

int preflight_store_open(const struct preflight *preflight, const struct config_store *where,
			 struct store **ret_store, struct error *err)
{
	const struct store_options options = preflight_store_options(preflight);

	return store_open(where, &options, ret_store, err);
}
