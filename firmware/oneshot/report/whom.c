/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/whom.h"
#include "core/base/log.h"
#include "oneshot/boot/last_good.h"

void whom_load(struct config *ret_config)
{
	struct error err = { 0 };

	if (config_load(config_path(0, NULL), ret_config, &err) == 0)
		return;
	log_warning("%s", err.text);
	if (last_good_or_frozen(config_path(0, NULL), ret_config, &err) < 0)
		log_warning("%s; nobody can be told of this night", err.text);
}
