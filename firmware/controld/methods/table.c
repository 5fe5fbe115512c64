/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/methods/table.h"
#include "controld/call/steer.h"
#include "controld/methods/methods.h"

#include <string.h>

static const struct {
	const char *name;
	method_fn *run;
} methods[] = {
	{ "status", method_status },
	{ "run.list", method_run_list },
	{ "run.show", method_run_show },
	{ "run.start", method_run_start },
	{ "run.stop", method_run_stop },
	{ "run.pause", method_run_pause },
	{ "run.resume", method_run_resume },
	{ "run.abandon", method_run_abandon },
	{ "checkpoint.list", method_checkpoint_list },
	{ "checkpoint.now", method_checkpoint_now },
	{ "config.show", method_config_show },
	{ "config.check", method_config_check },
	{ "config.apply", method_config_apply },
	{ "cache.status", method_cache_status },
	{ "cache.preload", method_cache_preload },
	{ "cache.pin", method_cache_pin },
	{ "cache.drop", method_cache_drop },
	{ "experiments.list", method_experiments_list },
	{ "experiments.show", method_experiments_show },
	{ "experiments.promote", method_experiments_promote },
	{ "experiments.rollback", method_experiments_rollback },
	{ "update.install", method_update_install },
	{ "factory.reset", method_factory_reset },
	{ "power.off", method_power_off },
	{ "log.tail", method_log_tail },
	{ "events.subscribe", method_events_subscribe },
	{ "node.info", method_node_info },
	{ "stalls", method_stalls },
	{ "metrics", method_metrics },
	{ "rank.check", method_rank_check },
	{ "rank.start", method_rank_start },
	{ "rank.stop", method_rank_stop },
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static method_fn *function_of(const char *name)
{
	for (size_t i = 0; i < METHODS; i++)
		if (strcmp(methods[i].name, name) == 0)
			return methods[i].run;
	return NULL;
}

void methods_check(void)
{
	for (size_t i = 0; i < control_methods_count; i++)
		if (!function_of(control_methods[i].name)) {
			fprintf(stderr, "the method %s has no function\n", control_methods[i].name);
			abort();
		}
}

int methods_run(struct call *call, struct error *err)
{
	int r;

	if (call->request.key) {
		r = recall_find(&call->calls->recall, call->caller, &call->request, &call->result, err);
		if (r < 0) {
			call->code = CONTROL_PARAMS;
			return r;
		}
		if (r > 0) {
			/* call_end() then does not remember the answer a second time */
			call->request.key = NULL;
			return 0;
		}
		if ((r = steer_join(call, err)) != 0)
			return r;
	}
	return function_of(call->request.method->name)(call, err);
}
