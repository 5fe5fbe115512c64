/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb_list.h"

#include "cli/verbs/verbs.h"

const struct verb *const verb_list[] = {
	/* Verbs for a box */
	&verb_status,
	&verb_watch,
	&verb_start,
	&verb_stop,
	&verb_pause,
	&verb_resume,
	&verb_abandon,
	&verb_checkpoint,
	&verb_runs,
	&verb_experiments,
	&verb_log,
	&verb_node,
	&verb_stalls,
	&verb_metrics,
	&verb_cache,
	&verb_update,
	&verb_factory_reset,
	&verb_power,
	&verb_support,
	&verb_pki,
	&verb_control,
	&verb_config,
	/* Verbs for a run, its inputs and its model */
	&verb_run,
	&verb_report,
	&verb_check,
	&verb_prep,
	&verb_peek,
	&verb_init,
	&verb_import,
	&verb_lakefs,
	&verb_preview,
	&verb_model,
	&verb_weights,
	&verb_predict,
	&verb_evaluate,
	&verb_export,
	/* Verbs for Kiln itself */
	&verb_manual,
	&verb_completion,
	NULL,
};
