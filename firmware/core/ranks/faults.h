/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the part of another box in the current run has failed for a reason of that box, such as a device
 * that is gone, since the run's newest checkpoint. The box that leads tries a box RANKS_FAULTS_MAX times, and
 * then goes on without it. After a newer checkpoint the box has all tries again. The file
 * PATH_RUN/fault-BOX.json:
 *
 *     {"faults": 2, "step": 150, "job": "6743f1a0-3e8", "why": "..."}
 *
 *     faults  failed jobs, those of `step`
 *     step    that of the newest checkpoint when the last of them failed; -1 = there was none
 *     job     name of the last of them: each job counts once
 *     why     the reason of the last of them
 *
 * Writers, on the box that leads: `kiln-oneshot ranks-agent` of the box, and rank 0. Reader: `kiln-oneshot
 * lead`.
 *
 * Crash: the file is replaced whole. It is part of the run's record, so it is moved to the archive with it.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define RANKS_FAULTS_MAX 3u

struct ranks_fault {
	uint32_t faults; /* since the newest checkpoint */
	int64_t step;    /* of this checkpoint; negative = there is none */
	char why[512];   /* "" where `faults` is 0 */
};

/* Reads what is known of a box. A file that is missing or damaged counts as none. */
void ranks_fault_read(const char *run_id, const char *box, struct ranks_fault *ret_fault);
/* Counts a failure in the job `job`. Errors: -ENOMEM; those of file_write_durable(). */
MUST_CHECK int ranks_fault_note(const char *run_id, const char *box, const char *job, const char *why,
				struct error *err);
