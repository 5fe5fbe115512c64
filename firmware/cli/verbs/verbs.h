/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the verbs of `kiln`. A file has the row of a verb and, before it, the code of the verb. Verbs
 * that call a box use client/. The other verbs use the folder that does their work (prep/, trained/), or
 * Kiln's own modules. A verb never calls another verb.
 *
 * Threads: those of cli/main.c. Owners: the rows are constant; a verb owns what it opens. Crash: a verb has
 * no state; a request that a box has received may have been carried out or not.
 */
#pragma once

#include "cli/base/verb.h"

extern const struct verb verb_status, verb_watch, verb_start, verb_stop, verb_pause, verb_resume;
extern const struct verb verb_abandon;
extern const struct verb verb_checkpoint, verb_runs, verb_experiments, verb_log, verb_node, verb_stalls,
	verb_metrics;
extern const struct verb verb_cache, verb_update, verb_factory_reset, verb_power, verb_support;
extern const struct verb verb_pki, verb_control, verb_config, verb_run, verb_report, verb_check;
extern const struct verb verb_peek, verb_init, verb_import;
extern const struct verb verb_lakefs, verb_prep, verb_preview, verb_model, verb_weights, verb_predict,
	verb_evaluate, verb_export;
extern const struct verb verb_manual, verb_completion;
