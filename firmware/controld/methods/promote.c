/* SPDX-License-Identifier: Apache-2.0 */
/* experiments.promote and experiments.rollback: write the request (core/series/promote_request.h), then ask
 * kiln-steer to start kiln-promote.service, which reads it. */
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "core/series/promote_request.h"
#include "core/series/series.h"
#include "drivers/manager/manager.h"

#include <string.h>

#define UNIT "kiln-promote.service"

/* A running promotion would not see a new request, and would remove it at its end. */
static int check_idle(struct call *call, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool busy;

	/* Without the bus kiln-steer cannot start the unit either, and says so. */
	if (manager_open(&manager, NULL) < 0 || manager_is_busy(manager, UNIT, &busy, NULL) < 0 || !busy)
		return 0;
	call->code = CONTROL_STATE;
	return error_set(err, -EBUSY, "a model is being judged already: kiln log --unit promote");
}

static int refuse_unfinished(struct call *call, const char *id, const char *what, struct error *err)
{
	call->code = CONTROL_STATE;
	return error_set(err, -EBUSY, "%s: the %s has not ended", id, what);
}

/* A model of a run or of a series that goes on cannot be judged. `series`: as the request has it. */
static int check_ended(struct call *call, const char *series, struct error *err)
{
	CLEANUP(json_free) cJSON *unfinished = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	const bool current = run_load(&run, NULL) == 0, asked = !*series || strcmp(series, run.id) == 0;

	if (current && asked && !run_state_is_final(run.state))
		return refuse_unfinished(call, run.id, "run", err);
	if (series_load_unfinished(&unfinished, NULL) < 0)
		return 0;
	if (*series ? strcmp(series, series_id(unfinished)) == 0
		    : current && series_find_run(unfinished, run.id) >= 0)
		return refuse_unfinished(call, series_id(unfinished), "series", err);
	return 0;
}

/* A steer_done_fn. Where the unit was not started, nobody reads the request. */
static int started(struct call *call, int r, struct error *err)
{
	(void)call;
	(void)err;
	if (r < 0 && r != -ETIMEDOUT)
		(void)!promote_request_remove(NULL);
	return r;
}

static int ask(struct call *call, const struct promote_request *request, struct error *err)
{
	int r;

	if ((r = check_idle(call, err)) < 0 || (r = promote_request_put(request, err)) < 0 ||
	    (r = call_result_true(call, "started", err)) < 0)
		return r;
	r = steer_say(call, "experiments.promote", started, err);
	return r < 0 ? started(call, r, err) : r;
}

int method_experiments_promote(struct call *call, struct error *err)
{
	struct promote_request request = { .force = control_flag(&call->request, "force") };

	int r;

	(void)snprintf(request.series, sizeof(request.series), "%s",
		       control_text(&call->request, "series", ""));
	(void)snprintf(request.trial, sizeof(request.trial), "%s", control_text(&call->request, "trial", ""));
	r = check_ended(call, request.series, err);
	return r < 0 ? r : ask(call, &request, err);
}

int method_experiments_rollback(struct call *call, struct error *err)
{
	const struct promote_request request = { .rollback = true };

	return ask(call, &request, err);
}
