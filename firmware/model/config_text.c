/* SPDX-License-Identifier: Apache-2.0 */
#include "model/config_text.h"

#include "core/config/config_held.h"

int config_text_load(const char *text, struct config *ret_config, struct error *err)
{
	char path[CONFIG_HELD_BYTES];
	CLEANUP(close_fd) int fd = config_hold(text, path, err);

	return fd < 0 ? fd : config_load(path, ret_config, err);
}
