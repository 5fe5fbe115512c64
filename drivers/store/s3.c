/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/backend.h"

int store_s3_open(const struct config_store *where, const struct store_options *options,
		  struct store **ret_store, struct error *err)
{
	(void)options;
	(void)ret_store;
	return error_set(err, -EINVAL, "store URL '%s': s3 is not built in", where->url);
}
