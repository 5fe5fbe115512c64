/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overrides: values of configuration keys for a single run, as a JSON object {"run.epochs": 3, ...} in the
 * member "overrides": any key that a trial may have (core/series/trials.h). The RPC run.start sets
 * run.epochs, run.seed and run.start_from. kiln-controld writes them to PATH_RUNS/next.json before the run is
 * begun. When the run is begun it moves to run.json. A run that never started may be replaced by a new one
 * (unstarted.h), which then gets the same overrides.
 *
 * NULL in place of a cJSON object means that there are no overrides. The caller frees the objects and texts
 * that it gets.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/run.h"

/* Reads the overrides for the next run from next.json. */
MUST_CHECK int overrides_asked(cJSON **ret_list, struct error *err);
/* Reads from next.json the id of the run of another machine that is to be adopted; "" = none. */
MUST_CHECK int overrides_adopt(char ret_id[static RUN_ID_BYTES], struct error *err);
/* Reads the overrides of the current run from its run.json. */
MUST_CHECK int overrides_of_run(cJSON **ret_list, struct error *err);

/* Writes the configuration of `file`, changed by the overrides, as text. Errors: as of trials_config(). */
MUST_CHECK int overrides_print(const char *file, const cJSON *list, char **ret_text, struct error *err);
/* Loads the configuration of `file`, changed by the overrides; config_line() finds the lines of `file`. Sets
 * *ret_file to the file that says the same: `file` itself or, where there are overrides, a copy of it with
 * the overrides. Writes the path of this copy into `path`. The caller calls config_done(). Errors: as of
 * trials_config(). */
MUST_CHECK int overrides_apply(const char *file, const cJSON *list, char path[static PATH_BYTES],
			       const char **ret_file, struct config *ret_config, struct error *err);

/* Notes the overrides in the current run.json, then removes next.json, so that they do not apply to the run
 * after this one. A kill between the two steps does no harm: begin then reads next.json again, for the same
 * run. */
MUST_CHECK int overrides_done(const cJSON *list, struct error *err);
