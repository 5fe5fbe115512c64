/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the weights with which a new run starts, and checks them before the record is made. The record
 * freezes the configuration: with a mistake in it the trainer would fail in this night and in every later
 * one. */
#pragma once

#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/digest/digest.h"
#include "drivers/store/store.h"
#include "model/graph/graph.h"

/* Do not copy this structure: with.file and with.sha256 point into it. with.run_id points into the last run.
 */
struct start {
	struct run_start with;         /* the argument of run_begin() */
	char path[PATH_BYTES];         /* file of the weights; "" = start from scratch */
	char sha256[DIGEST_HEX_BYTES]; /* SHA-256 of the file that model.weights names */
};

/* Brings the weights that run.start_from and model.weights of the graph's configuration ask for, and checks
 * that they fit the graph. `last` is the last run of this box; its id is "" where there is none. `file` is
 * the configuration's name for error messages. */
MUST_CHECK int start_choose(const char *file, const struct graph *graph, const struct run *last,
			    struct start *ret_start, struct error *err);
/* Opens the sink of a configuration where the files of an earlier run are: on the run's branch, or, once that
 * is gone, on the branch merged into. Where this disk has no record of the run, the sink as it is. */
MUST_CHECK int start_open_sink(const struct config *config, const char *run_id, struct store **ret_sink,
			       struct error *err);
