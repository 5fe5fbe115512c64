/* SPDX-License-Identifier: Apache-2.0 */
/* The weights that a new run starts with: checked before the record is made, because the record freezes the
 * configuration, and a mistake in it would fail the trainer this night and every later one. */
#pragma once

#include "core/base/paths.h"
#include "core/run/run.h"
#include "drivers/digest/digest.h"
#include "model/graph/graph.h"

/* with.file and with.sha256 point into this very structure, so do not copy it; with.run_id points into the
 * last run. */
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
