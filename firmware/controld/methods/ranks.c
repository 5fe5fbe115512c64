/* SPDX-License-Identifier: Apache-2.0 */
/* The methods rank.*, which a box that leads a run on several boxes calls on the others. */
#include "controld/call/jobs.h"
#include "controld/methods/methods.h"
#include "core/config/config.h"
#include "core/ranks/facts.h"
#include "core/ranks/orted.h"
#include "drivers/manager/manager.h"

/* Reads ranks.network. Without one this box takes part in no job. */
static int read_network(struct call *call, struct cidr *ret_network, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	const char *file = config_path(0, NULL);
	int r = config_load(file, &config, err);

	if (r < 0) {
		call->code = CONTROL_CONFIG;
		return r;
	}
	if (cidr_parse(config.ranks.network, ret_network))
		return 0;
	call->code = CONTROL_STATE;
	return error_set(err, -EINVAL,
			 "%s of this box has no ranks.network, so it takes part in no job of other boxes",
			 file);
}

static int check_name(struct call *call, const char *name, struct error *err)
{
	if (ranks_job_is_name(name))
		return 0;
	call->code = CONTROL_PARAMS;
	return error_set(err, -EINVAL, "%s: \"job\": found \"%s\", allowed: " RANKS_JOB_ALLOWED,
			 call->request.method->name, name);
}

/* Tells whether this box trains a run of its own. */
static bool trains(void)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool busy;

	return manager_open(&manager, NULL) == 0 &&
	       manager_is_busy(manager, "kiln-traind.service", &busy, NULL) == 0 && busy;
}

int method_rank_check(struct call *call, struct error *err)
{
	struct ranks_facts facts;
	int r = ranks_facts_here(&facts, err);

	if (r < 0)
		return r;
	if (jobs_any(call->calls))
		(void)snprintf(facts.busy, sizeof(facts.busy), "still has the job %s", jobs_any(call->calls));
	else if (trains())
		(void)snprintf(facts.busy, sizeof(facts.busy), "trains a run of its own");
	call->result = ranks_facts_json(&facts);
	return call->result ? 0 : call_no_memory(err);
}

int method_rank_start(struct call *call, struct error *err)
{
	CLEANUP(ranks_arguments_done) struct ranks_arguments arguments = { 0 };
	const char *name = control_text(&call->request, "job", "");
	const cJSON *array = control_list(&call->request, "arguments");
	struct cidr network;
	struct orted_job job;
	int r = check_name(call, name, err);

	if (r < 0 || (r = read_network(call, &network, err)) < 0 ||
	    (r = ranks_arguments_of(array, &arguments, err)) < 0)
		return r;
	if ((r = orted_check(arguments.words, arguments.count, &network, &job, err)) < 0) {
		call->code = CONTROL_PARAMS;
		return r;
	}
	r = call_result_true(call, "started", err);
	return r < 0 ? r : job_start(call, name, call->request.params, err);
}

int method_rank_stop(struct call *call, struct error *err)
{
	const char *name = control_text(&call->request, "job", "");
	int r = check_name(call, name, err);

	if (r < 0 || (r = call_result_true(call, "stopped", err)) < 0)
		return r;
	return job_stop(call, name, err);
}
