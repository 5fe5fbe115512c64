/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/features/job.h"

/* Checks that the outputs of the base are the same in every epoch, and that the head reads nothing else. Sets
 * job->graph. Errors: -EINVAL with the key, what was found and what is expected. */
MUST_CHECK int head_check(struct job *job, struct error *err);
/* Sets job->conf, the text of features.conf. Call it when the plan is there. Errors: -EINVAL the head is no
 * network without the base; -ENOMEM. */
MUST_CHECK int head_configure(struct job *job, struct error *err);
