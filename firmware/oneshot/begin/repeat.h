/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin --from RUN.JSON: repeats one run.
 *
 * The record is a file from anywhere, so it does not say to whom this box sends signed requests: its stores
 * must be those of kiln.conf (box_stores.h), or be folders of this machine where there is no kiln.conf.
 */
#pragma once

#include "core/run/run.h"

struct repeat {
	const char *record; /* path of the run.json */
	const char *config; /* path of kiln.conf; NULL = the box's, which may be missing */
	bool adopt;         /* the stores of kiln.conf take the place of those of the record */
};

/* Makes a new run with the configuration, seed, plan and start weights of the run of a run.json
 * (core/run/run.h, run_repeat()). Brings the plan and the weights from the store, and compares their SHA-256.
 * ret_repeats is the id of that run. Errors: -EINVAL that run had no plan; -ENOENT something is not in the
 * store any more; -EPERM the record names other stores than kiln.conf. */
MUST_CHECK int repeat_begin(const struct repeat *repeat, struct run *ret_run,
			    char ret_repeats[static RUN_ID_BYTES], struct error *err);
