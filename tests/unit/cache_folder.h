/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of a test's own node. Include it after cmocka.h, with core/base/paths.h and
 * drivers/cache/cache.h. */
#pragma once

#include "scratch.h"

/* Makes the node and opens its cache. *ret_cache stays NULL on a file system without extended attributes,
 * such as tmpfs before Linux 6.6: the tests are skipped then. The caller closes the cache and calls
 * scratch_teardown(). Returns what a setup of cmocka returns. */
static inline int cache_folder_setup(void **state, struct cache **ret_cache)
{
	char folder[PATH_BYTES];
	struct error err = { 0 };
	int r;

	if (scratch_setup(state) != 0)
		return -1;
	r = cache_open(path_of(PATH_CACHE, NULL, folder), CACHE_WRITE, ret_cache, &err);
	if (r < 0 && r != -EOPNOTSUPP)
		print_error("%s\n", err.text);
	return r == -EOPNOTSUPP ? 0 : r;
}
