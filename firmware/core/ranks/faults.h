/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the part of another box in the current run has failed for a reason of that box, such as a device
 * that is gone, since the run's newest checkpoint. The box that leads tries a box RANKS_FAULTS_MAX times, and
 * then goes on without it. After a newer checkpoint the box has all tries again. The file
 * PATH_RUN/fault-BOX.json:
 *
 *     {"run": "t-20261123-084518", "faults": 2, "lasting": true, "step": 150, "job": "6743f1a0-3e8",
 *      "why": "..."}
 *
 *     run      id of the run
 *     faults   failed jobs since the checkpoint `step`, 1 .. RANKS_FAULTS_LIMIT
 *     lasting  none of these failures passes by itself, as that of a store that is away does
 *     step     step of the newest checkpoint when the last of them failed; -1 = there was none
 *     job      name of the last of them: each job counts once
 *     why      the reason of the last of them
 *
 * Writers, on the box that leads: `kiln-oneshot ranks-agent` of the box, rank 0, and `kiln-oneshot lead`,
 * which forgets. They hold the lock of the run's record. Reader: `kiln-oneshot lead`, which needs no lock.
 *
 * Crash: the file is replaced whole. It is part of the run's record, so it is moved to the archive with it.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define RANKS_FAULTS_MAX   3u
#define RANKS_FAULTS_LIMIT 1000u /* the count stays there */
/* Exit statuses of a program that could not be started. orted has others above them, for its own errors and
 * for signals. */
#define RANKS_NOT_EXECUTABLE 126
#define RANKS_NOT_FOUND      127

struct ranks_fault {
	uint32_t faults; /* since the newest checkpoint */
	bool lasting;    /* none of them passes by itself; false where `faults` is 0 */
	int64_t step;    /* step of the newest checkpoint; negative = the run has none */
	char why[512];   /* "" where `faults` is 0 */
};

/* Tells whether a program that ends with this exit status would end so each time: its configuration, its data
 * or its rights are wrong, or it could not be started. The other causes pass by themselves. */
bool ranks_fault_is_lasting(int exit_status);

/* Reads what is known of a box. A file that is missing, damaged or of another run counts as no failure, and
 * so does every file while the spool cannot be read. */
void ranks_fault_read(const char *run_id, const char *box, struct ranks_fault *ret_fault);
/* Counts a failure in the job `job`. Blocks: while another writer has the record. Errors: -ENOMEM; those of
 * run_lock(), spool_find_step() and file_write_durable(). */
MUST_CHECK int ranks_fault_note(const char *run_id, const char *box, const char *job, bool lasting,
				const char *why, struct error *err);
/* Gives a box all tries again. Blocks as above. Errors: those of run_lock(); -errno of unlink(2). */
MUST_CHECK int ranks_fault_forget(const char *box, struct error *err);
