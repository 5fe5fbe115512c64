/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "oneshot/oneshot.h"

int config_kept(const char *file, struct config *ret_config, struct error *err)
{
	char good[PATH_BYTES], path[PATH_BYTES];

	(void)snprintf(good, sizeof(good), "%.4000s" CONFIG_GOOD_SUFFIX, file);
	if (config_load(good, ret_config, NULL) == 0)
		return 0;
	return config_load(path_of(PATH_RUN, "config", path), ret_config, err);
}
