/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function for each method of core/control/control.h. When it is called, the role of the client and the
 * names, types and bounds of the parameters are checked already.
 *
 * A method returns 0 with call->result set; CALL_LATER after steer_say(); or a negative errno with err and
 * call->code, which is CONTROL_INTERNAL unless the method sets it. A method blocks on files and on short
 * questions over D-Bus, but never waits for a unit to finish its work.
 */
#pragma once

#include "controld/call/call.h"
#include "controld/status/box.h"

typedef int method_fn(struct call *call, struct error *err);

/* look.c: methods that change nothing */
method_fn method_status, method_node_info, method_stalls, method_metrics, method_log_tail,
	method_events_subscribe;
/* runs.c: lists of runs and checkpoints on the disk */
method_fn method_run_list, method_run_show, method_checkpoint_list;
/* run_start.c, run_change.c */
method_fn method_run_start;
method_fn method_run_stop, method_run_pause, method_run_resume, method_run_abandon, method_checkpoint_now;
/* config.c, cache.c */
method_fn method_config_show, method_config_check, method_config_apply;
method_fn method_cache_status, method_cache_preload, method_cache_pin, method_cache_drop;
/* series.c */
method_fn method_experiments_list, method_experiments_show;
/* promote.c */
method_fn method_experiments_promote, method_experiments_rollback;
/* ranks.c */
method_fn method_rank_check, method_rank_start, method_rank_stop;
/* whole_box.c, update.c */
method_fn method_factory_reset, method_power_off;
method_fn method_update_install;
