/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/features/job.h"

/* Completes job->where, and checks the place of the output. It must be on the server of the sink, because a
 * run looks there for model.weights of features.conf. It must not overlap the source, because the next plan
 * would take the features for pictures. Errors: -EINVAL with the output, the source and what is expected. */
MUST_CHECK int place_check(struct job *job, struct error *err);
