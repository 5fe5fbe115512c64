/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/figures.h"
#include "core/base/log.h"
#include "core/base/slot.h"

int figures_get(struct model *model, struct model_metrics *ret_metrics, struct error *err)
{
	struct error cache_err;
	int r = model_metrics(model, ret_metrics, err);

	/* The ranks of a box have the same kernels, and one file for them. */
	if (r == 0 && slot_local() == 0 && model_keep_kernels(model, &cache_err) < 0)
		log_warning("%s; going on, the next start compiles the kernels again", cache_err.text);
	return r;
}

bool figures_may_wait(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO;
}
