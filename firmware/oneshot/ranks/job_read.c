/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/ranks/job_read.h"

int job_read(const struct config *config, struct ranks_job *ret_job, struct orted_job *ret_checked,
	     struct error *err)
{
	struct cidr cidr;
	int r;

	if (!cidr_parse(config->ranks.network, &cidr))
		return error_set(err, -EINVAL, "%s has no ranks.network, so this box takes part in no job",
				 config_path(0, NULL));
	r = ranks_job_read(ret_job, err);
	return r < 0 ? r
		     : orted_check(ret_job->arguments.words, ret_job->arguments.count, &cidr, ret_checked,
				   err);
}
