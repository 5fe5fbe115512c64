/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracking server refuses for good, and telling it. Threads: one. */
#pragma once

#include "core/base/error.h"
#include "core/base/json.h"

struct refusals {
	cJSON *told;        /* an object: its keys are the runs and series whose refusal was told */
	struct error first; /* the first refusal of a pass; code 0 = none */
};

/* Begins a pass. */
void refusals_begin(struct refusals *refusals);
void refusals_done(struct refusals *refusals);
/* Notes that something of a run or a series was refused, and tells it once, because each pass comes to it
 * again. */
void refusals_of_run(struct refusals *refusals, const char *id, const struct error *err);
/* Notes that a champion was refused, and tells it: its file is gone. `run`: "" = not known. */
void refusals_of_champion(struct refusals *refusals, const char *run, const struct error *err);
