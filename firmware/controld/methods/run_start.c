/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.start: begins a new run, or goes on with the current run if that has not ended. Values that apply to
 * the new run only go into a file, next.json, which kiln-begin reads. Then kiln-steer starts kiln-begin.
 */
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "controld/methods/request.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/box/tonight.h"
#include "core/config/config.h"
#include "core/series/series.h"

#include <string.h>

static const struct {
	const char *param, *key;
} overrides[] = { { "epochs", "run.epochs" }, { "seed", "run.seed" }, { "start_from", "run.start_from" } };
#define OVERRIDES (sizeof(overrides) / sizeof(overrides[0]))
#define NEXT_FILE "next.json"

static const cJSON *param(const struct call *call, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(call->request.params, name);
}

/* Makes the content of next.json: {version, adopt, overrides}. *ret_any: the request sets any of them. NULL:
 * no memory. */
static cJSON *next_run(const struct call *call, bool *ret_any)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	cJSON *list = cJSON_AddObjectToObject(json, "overrides");
	const cJSON *adopt = param(call, "adopt");

	if (!list || !cJSON_AddNumberToObject(json, "version", 1) ||
	    (adopt && !cJSON_AddItemToObject(json, "adopt", cJSON_Duplicate(adopt, false))))
		return NULL;
	for (size_t i = 0; i < OVERRIDES; i++) {
		const cJSON *item = param(call, overrides[i].param);

		if (item && !cJSON_AddItemToObject(list, overrides[i].key, cJSON_Duplicate(item, false)))
			return NULL;
	}
	*ret_any = list->child || adopt;
	return TAKE(json);
}

/* Writes next.json for kiln-begin. If the request sets no values, removes the file of an earlier request. */
static int write_next_run(const struct call *call, struct error *err)
{
	bool any = false;
	CLEANUP(json_free) cJSON *json = next_run(call, &any);
	CLEANUP(free_ptr) char *text = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES];
	int r;

	if (!json)
		return call_no_memory(err);
	(void)path_of(PATH_RUNS, NEXT_FILE, path);
	if (!any)
		return unlink(path) < 0 && errno != ENOENT
			       ? error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno))
			       : 0;
	if ((r = path_make(path_of(PATH_RUNS, NULL, folder), err)) < 0)
		return r;
	r = json_print(json, &text, err);
	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

static bool has_overrides(const struct call *call)
{
	for (size_t i = 0; i < OVERRIDES; i++)
		if (param(call, overrides[i].param))
			return true;
	return false;
}

/* A steer_done_fn. If kiln-begin was not started, removes next.json, so that the run of another night does
 * not use it. After a time-out the file stays, because kiln-begin may have started and may need it. */
static int started(struct call *call, int r, struct error *err)
{
	char path[PATH_BYTES];

	(void)err;
	if (r < 0 && r != -ETIMEDOUT) {
		(void)unlink(path_of(PATH_RUNS, NEXT_FILE, path));
		beginning_forget(&call->box->beginning);
	}
	return r;
}

static int not_allowed(struct call *call)
{
	call->code = CONTROL_STATE;
	return -EPERM;
}

/* Lets an unfinished run go on: replaces an earlier request to pause or to stop it. */
static int go_on(struct call *call, enum run_state state, struct error *err)
{
	const cJSON *adopt = param(call, "adopt");
	CLEANUP(run_done) struct run run = { 0 };
	struct run_want want;
	int r;

	if (has_overrides(call))
		return error_set(err, not_allowed(call),
				 "the run is %s: it goes on as it began, without other values",
				 run_state_name(state));
	if ((r = run_load(&run, err)) < 0)
		return r;
	if (adopt && strcmp(adopt->valuestring, run.id) != 0)
		return error_set(
			err, not_allowed(call),
			"%s is %s, so no other run is adopted: let it end, or kiln stop and kiln abandon",
			run.id, run_state_name(state));
	if ((r = request_state(RUN_RUNNING, &want, err)) < 0)
		return r;
	return cJSON_AddStringToObject(call->result, "run", run.id) ? 0 : call_no_memory(err);
}

/* Between two trials of a series, what begins is the next trial: it takes no values and no other run. */
static int check_series(struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;

	if ((!has_overrides(call) && !param(call, "adopt")) || series_load_unfinished(&series, NULL) < 0)
		return 0;
	return error_set(err, not_allowed(call),
			 "%s is %s: it goes on as it began, without other values, and no run is adopted",
			 series_id(series), series_state_name(series_state_of(series)));
}

static int begin_new(struct call *call, struct error *err)
{
	int r = check_series(call, err);

	if (r < 0)
		return r;
	return cJSON_AddNullToObject(call->result, "run") ? write_next_run(call, err) : call_no_memory(err);
}

/* Checks kiln.conf for a new run. An unfinished series goes on with its frozen configuration. */
static int check_conf(struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_load_unfinished(&series, NULL) == 0 ? 0 : conf_check(config_path(0, NULL), err);

	if (r >= 0)
		return 0;
	call->code = r == -ENOMEM ? CONTROL_INTERNAL : CONTROL_CONFIG;
	return r != -ENOENT ? r : error_prefix(err, "there is no configuration yet: kiln config apply FILE");
}

/* Lets the unfinished runs of the other slots go on: replaces an earlier request to pause or to stop them. */
static int go_on_beside(struct error *err)
{
	int r = 0;

	for (unsigned slot = 1; r >= 0 && slot < SLOTS_MAX; slot++) {
		enum run_state state;
		struct run_want want;

		(void)slot_use(slot);
		if (run_state_get(&state, NULL) == 0 && !run_state_is_final(state))
			r = request_state(RUN_RUNNING, &want, err);
	}
	(void)slot_use(0);
	return r;
}

/* Where slot 0 trains, its target is active, and no kiln-begin runs: the other slots are asked for here. */
static int start_beside(struct call *call, struct error *err)
{
	const struct status *trainer;

	watch_sample(&call->box->watch);
	trainer = watch_newest(&call->box->watch, STATUS_TRAIND);
	return trainer && watch_is_alive(trainer) ? series_ask_slots_again(err) : 0;
}

int method_run_start(struct call *call, struct error *err)
{
	enum run_state state;
	int r = run_state_get(&state, err);
	bool goes_on = r == 0 && !run_state_is_final(state);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!goes_on && (r = check_conf(call, err)) < 0)
		return r;
	if ((r = call_result_true(call, "started", err)) < 0 ||
	    (r = goes_on ? go_on(call, state, err) : begin_new(call, err)) < 0)
		return r;
	/* A person starts this run, so the box does not power off by itself after it. */
	if ((r = tonight_begin(false, err)) < 0)
		return r;
	run_asked_over(false);
	run_want_forget_stops();
	/* In this order: a trial that begins at this moment pauses only where the series is paused. */
	if ((r = series_pause(false, err)) < 0 || (r = go_on_beside(err)) < 0)
		return r;
	if ((r = start_beside(call, err)) < 0)
		return r;
	beginning_mark(&call->box->beginning, goes_on);
	r = steer_say(call, "run.start", started, err);
	return r < 0 ? started(call, r, err) : r;
}
