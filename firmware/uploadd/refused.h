/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run whose files the store refuses, where waiting does not help: a person must act. The member
 * "uploads_refused" of run.json says why, so that a promotion does not wait for the files.
 */
#pragma once

#include "core/run/run.h"
#include "uploadd/pause.h"

struct refused {
	struct refusal {
		char run_id[RUN_ID_BYTES];
		struct pause pause;
	} * of; /* runs of earlier nights */
	uint32_t count;
};

/* Returns whether a refused run of an earlier night is to be left alone in this pass: it is tried again after
 * pauses from one minute to an hour, and at each start of the process. */
bool refused_rests(struct refused *refused, const char *run_id);
/* Tells of a run of an earlier night, and notes why: once per run. A failure to note is logged. */
void refused_archived(struct refused *refused, const char *run_id, const struct error *why);
/* Notes the same of the current run of this slot, unless the record says so. Returns false where the run has
 * not ended: then there is no note. */
bool refused_current(const struct error *why);
