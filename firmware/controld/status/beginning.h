/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mark for the time between run.start and the decision of kiln-begin, which begins the run or gives up. In
 * this time the run record on the disk is still that of the last run: without the mark a client that asks
 * would be told how the last run ended.
 *
 * The mark is in memory only. A restart of controld loses it, and the status shows the last run until
 * kiln-begin decides.
 */
#pragma once

#include "core/run/run.h"

#include <time.h>

struct beginning {
	char run_id[RUN_ID_BYTES]; /* the current run at the time of run.start; "" = there was none */
	bool goes_on;              /* run.start asked to go on with that run, not to begin a new one */
	bool failed;               /* an earlier attempt failed; kiln-begin removes the note of that */
	/* when the mark was set, by the clock that gives files their modification times */
	struct timespec since;
	uint64_t since_ms; /* when the mark was set, by clock_ms(); 0 = no mark */
};

/* Sets the mark: run.start asked to go on with the current run (`goes_on`) or to begin a new one. */
void beginning_mark(struct beginning *beginning, bool goes_on);
void beginning_forget(struct beginning *beginning);
/* Returns whether the mark is set and `run_id` is still the current run. Removes a mark that is out of
 * date. */
bool beginning_is(struct beginning *beginning, const char *run_id);
