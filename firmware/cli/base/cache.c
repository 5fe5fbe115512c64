/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/cache.h"

#include "core/base/paths.h"

#include <stdlib.h>
#include <unistd.h>

/* Chooses Kiln's cache where this user may write to it, as on a box; otherwise a folder in the user's own
 * cache. */
void cache_find(void)
{
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
	char path[PATH_BYTES], root[PATH_BYTES / 2];

	if (getenv("KILN_ROOT") || access(path_of(PATH_CACHE, NULL, path), W_OK) == 0)
		return;
	if (cache && *cache)
		(void)snprintf(root, sizeof(root), "%s/kiln", cache);
	else
		(void)snprintf(root, sizeof(root), "%s/.cache/kiln", home ? home : "/tmp");
	(void)setenv("KILN_ROOT", root, 1);
}
