/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the points by step that kiln-traind writes for TensorBoard, logs/steps in the spool
 * (traind/curves.h), and adds the new ones to a journal. */
#pragma once

#include "core/run/spool.h"
#include "uploadd/tracking/journal.h"

/* How far the files are read. Zeros: nothing is read yet. */
struct follow {
	char name[SPOOL_NAME_BYTES];
	uint64_t offset;
};

/* Adds what is new. A point that the journal has is left out. Bytes that are no event end the reading of
 * their file. Errors: those of the spool and of journal_add(). */
MUST_CHECK int follow_steps(struct follow *follow, const char *run_id, struct journal *journal,
			    struct error *err);
