/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial that begins when that of the run has ended (core/series/next.h), with the plan that it will make.
 * One thread. Only reads the record of the series.
 */
#pragma once

#include "core/series/trials.h"
#include "data/plan.h"
#include "fetchd/shared/fetch.h"

struct prefetch_trial {
	char name[TRIAL_NAME_BYTES];
	struct config config;
	struct plan *plan;
};

/* Finds the trial. Where it reads the same data as the run, its plan is that of the run in another order.
 * Else the sources are listed, which may take minutes. Returns 1; 0 where no trial follows, or it is not
 * known which one, or which commit of a lakefs:// source it reads. awake(NULL) is called at least once a
 * second while the call waits for the network. Owns: the caller calls prefetch_trial_done(). Errors: those of
 * the record, of the configuration and of the store. */
MUST_CHECK int prefetch_trial_find(const struct fetch *fetch, void (*awake)(void *context),
				   struct prefetch_trial *ret_trial, struct error *err);
void prefetch_trial_done(struct prefetch_trial *trial);
