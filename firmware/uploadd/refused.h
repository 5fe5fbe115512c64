/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run whose files the store refuses, where waiting does not help: a person must act. The member
 * "uploads_refused" of run.json says why, so that a promotion does not wait for the files.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct refused {
	char **warned; /* ids of the runs of which an event has told */
	uint32_t warnings;
};

/* Tells of a run of an earlier night, and notes why. Once per run: each pass looks at the run again. A
 * failure to note is logged. */
void refused_archived(struct refused *refused, const char *run_id, const struct error *why);
/* Notes the same of the current run of this slot, unless the record says so. Returns false where the run has
 * not ended: then there is no note. */
bool refused_current(const struct error *why);
