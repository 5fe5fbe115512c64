/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overrides: values of keys that run.start changes for one run only, an object {"run.epochs": 3, ...}, member
 * "overrides". kiln-controld writes it to PATH_RUNS/next.json before the run is begun. From then on it is in
 * the run.json, and also holds for a run that replaces this one because this one never started (unstarted.h).
 *
 * A cJSON object that is NULL means: no overrides. The caller frees each object that it gets.
 */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/run.h"

/* Reads the overrides for the next run from next.json. */
MUST_CHECK int overrides_asked(cJSON **ret_list, struct error *err);
/* Reads from next.json which run of another machine is to be adopted; "" = none. */
MUST_CHECK int overrides_adopt(char ret_id[static RUN_ID_BYTES], struct error *err);
/* Reads the overrides of the current run from its run.json. */
MUST_CHECK int overrides_of_run(cJSON **ret_list, struct error *err);

/* Prints the configuration of `file` with the overrides as text. -EBADMSG: a key that cannot be overridden.
 */
MUST_CHECK int overrides_print(const char *file, const cJSON *list, char **ret_text, struct error *err);
/* Sets *ret_file to `file`, or where there are overrides to a copy of it with them, whose path is `path`. */
MUST_CHECK int overrides_apply(const char *file, const cJSON *list, char path[static PATH_BYTES],
			       const char **ret_file, struct error *err);

/* Notes the overrides in the current run.json, then removes next.json: the run after this one has no
 * overrides. A kill before the removal has no effect: begin reads next.json once more for the same run. */
MUST_CHECK int overrides_done(const cJSON *list, struct error *err);
