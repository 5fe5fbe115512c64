/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks for the judgement of a model whose files are all in the store, or are refused there
 * (core/run/unjudged.h). A judgement that fails while a server is away notes again that it is wanted; so each
 * further one comes after a pause, from one minute to about half an hour.
 */
#pragma once

#include "core/run/run.h"

struct judging {
	char run_id[RUN_ID_BYTES]; /* the run that was asked for last */
	uint64_t at_us, pause_us;  /* clock_us() of the next question, and the pause that follows it */
};

/* Asks, unless the pause after the last question for this run goes on. A failure is logged. */
void judging_ask(struct judging *judging, const char *run_id);
