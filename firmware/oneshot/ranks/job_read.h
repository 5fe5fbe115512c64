/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a unit on a box that another box leads. */
#pragma once

#include "core/config/config.h"
#include "core/ranks/job.h"
#include "core/ranks/orted.h"

/* Reads the unit's job. kiln-controld has checked the arguments of orted already; but it speaks with other
 * machines, and this is another user with other rights. `config` is that of this box. Errors: those of
 * ranks_job_read(); -EINVAL this box has no network of ranks, or the arguments are not allowed. */
MUST_CHECK int job_read(const struct config *config, struct ranks_job *ret_job, struct orted_job *ret_checked,
			struct error *err);
