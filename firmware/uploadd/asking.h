/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks for work that waits for the store (core/run/later.h): the judgement of a model whose files are all in
 * the store, or are refused there; a report for a branch that has uncommitted changes of others. What fails
 * again notes again that it is wanted; so each further question comes after a pause, from one minute to half
 * an hour. A failure is logged.
 */
#pragma once

#include "core/run/run.h"
#include "uploadd/pause.h"

struct asking {
	char run_id[RUN_ID_BYTES]; /* the run that was asked for last */
	struct pause pause;
};

/* Asks for the judgement, unless the pause after the last question for this run goes on. */
void asking_judgement(struct asking *asking, const char *run_id);
/* Asks for the report where one is noted, unless the pause after the last question goes on. */
void asking_report(struct pause *pause);
