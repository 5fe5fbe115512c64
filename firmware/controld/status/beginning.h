/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time between run.start and the decision of kiln-begin, which begins the run or gives up. The run
 * record on the disk is still the last run's then: without this mark a client that asks would be told how the
 * last run ended.
 *
 * The mark lives in memory alone. A restart of controld loses it, and the status shows the last run until
 * kiln-begin decides.
 */
#pragma once

#include "core/run/run.h"

#include <time.h>

struct beginning {
	char run_id[RUN_ID_BYTES]; /* the current run at the time of run.start; "" = there was none */
	bool goes_on;              /* run.start was for that run, not for a new one */
	bool failed;               /* the attempt before had failed; kiln-begin removes that note */
	struct timespec since;     /* by the clock that stamps files */
	uint64_t since_ms;         /* 0 = no mark */
};

/* Marks that a run was asked for: the current one (`goes_on`) or a new one. */
void beginning_mark(struct beginning *beginning, bool goes_on);
void beginning_forget(struct beginning *beginning);
/* Whether the mark still holds while `run_id` is the current run. Removes a mark that is over. */
bool beginning_is(struct beginning *beginning, const char *run_id);
