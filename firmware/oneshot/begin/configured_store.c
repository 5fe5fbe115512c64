/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/configured_store.h"

int configured_store_open(const struct config *config, const struct config_store *which,
			  struct store **ret_store, struct error *err)
{
	const struct store_options options = store_options_of(config);

	return store_open(which, &options, ret_store, err);
}
