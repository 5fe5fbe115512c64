/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs as text: the record of one run, and the list of runs in the store. `kiln runs` and `kiln report` print
 * with these functions.
 *
 *     record.c  prints a run.json (core/run/run.h)
 *     curve.c   draws the curves of its epochs
 *     stored.c  finds the runs in a store
 *
 * Threads: the caller's. Owners: nothing outlives a call, except what a function returns. Crash: nothing is
 * stored.
 */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Prints the state of a run, loss and accuracy by epoch, a curve of the losses, the test, the time by stage,
 * and where the outputs are. Of many epochs only some are printed, unless `all_epochs`: the first, the last,
 * the best and others between them. `sink_url`: where the outputs are; NULL = not known. Errors: -EBADMSG the
 * record lacks its id or its state; then nothing is printed. */
MUST_CHECK int record_print(const cJSON *record, const char *sink_url, bool all_epochs, FILE *out,
			    struct error *err);
