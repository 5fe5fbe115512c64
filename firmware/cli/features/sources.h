/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/features/job.h"

/* Makes the plan of CONF: sets job->plan and pictures_sha256. Errors: those of plan_list() and
 * plan_list_check(). */
MUST_CHECK int sources_plan(struct job *job, struct error *err);
/* Brings the weights and writes the file of the base: sets job->base and base_sha256. Errors: those of the
 * store, of weights_match() and of features_write_base(). */
MUST_CHECK int sources_base(struct job *job, struct error *err);
/* Opens the device of CONF, or any other: sets job->gpu. Errors: those of gpu_open(). */
MUST_CHECK int sources_device(struct job *job, struct error *err);
/* Opens the base on the device: sets job->model. Errors: those of model_open_base(). */
MUST_CHECK int sources_open(struct job *job, struct error *err);
