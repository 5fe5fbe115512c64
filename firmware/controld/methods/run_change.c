/* SPDX-License-Identifier: Apache-2.0 */
/* What changes a run: a wish that traind obeys between two steps, or a word to kiln-steer. */
#include "controld/controld.h"
#include "core/base/paths.h"
#include "core/box/tonight.h"

#include <inttypes.h>
#include <string.h>

/* The current run's state: -ENOENT and CONTROL_NOT_FOUND without one. */
static int state_of_run(struct call *call, enum run_state *ret_state, struct error *err)
{
	int r = run_state_get(ret_state, err);

	if (r == -ENOENT) {
		call->code = CONTROL_NOT_FOUND;
		return error_set(err, r, "there is no run on this box yet");
	}
	return r;
}

static int is_not_allowed(struct call *call, enum run_state state, struct error *err)
{
	call->code = CONTROL_STATE;
	return error_set(err, -EPERM, "the run is %s%s", run_state_name(state),
			 state == RUN_STOPPED || state == RUN_EXPIRED ? "; run.start goes on with it" : "");
}

static int change(bool (*edit)(struct run_want *want, enum run_state wanted), enum run_state wanted,
		  struct run_want *ret_want, struct error *err)
{
	int r = run_want_get(ret_want, err);

	if (r < 0 || !edit(ret_want, wanted))
		return r;
	ret_want->seq++;
	return run_want_set(ret_want, err);
}

static bool edit_state(struct run_want *want, enum run_state wanted)
{
	bool differs = want->state != wanted;

	want->state = wanted;
	return differs;
}

static bool edit_checkpoint(struct run_want *want, enum run_state wanted)
{
	(void)wanted;
	want->checkpoint_seq++;
	return true;
}

static int result_of(struct call *call, const struct run_want *want, struct error *err)
{
	call->result = cJSON_CreateObject();
	if (call->result && cJSON_AddStringToObject(call->result, "wanted", run_state_name(want->state)) &&
	    json_add_u64(call->result, "seq", want->seq) &&
	    json_add_u64(call->result, "checkpoint_seq", want->checkpoint_seq))
		return 0;
	return error_set(err, -ENOMEM, "no memory");
}

static int wish(struct call *call, enum run_state wanted, struct error *err)
{
	struct run_want want;
	enum run_state state;
	int r = state_of_run(call, &state, err);

	if (r < 0)
		return r;
	if (state != RUN_RUNNING && state != RUN_PAUSED && !(wanted == RUN_STOPPED && state <= RUN_STOPPED))
		return is_not_allowed(call, state, err);
	r = change(edit_state, wanted, &want, err);
	return r < 0 ? r : result_of(call, &want, err);
}

int method_run_pause(struct call *call, struct error *err)
{
	return wish(call, RUN_PAUSED, err);
}

int method_run_resume(struct call *call, struct error *err)
{
	return wish(call, RUN_RUNNING, err);
}

/* kiln-begin is gone, and nobody else works on a run that has not begun. */
static int not_begun(struct call *call, int r, struct error *err)
{
	enum run_state state;

	(void)call;
	if (r < 0)
		return r;
	run_asked_over(true);
	if (run_state_get(&state, NULL) < 0 || state >= RUN_STOPPED)
		return 0;
	return run_state_set(RUN_STOPPED, err);
}

int method_run_stop(struct call *call, struct error *err)
{
	static const struct run_want nothing = { .state = RUN_STOPPED };
	bool now = control_flag(&call->request, "now"), asked;
	enum run_state state;
	int64_t since;
	int r = run_state_get(&state, NULL);

	beginning_forget(call->server);
	asked = run_asked_get(&since, NULL) == 0;
	/* Of a run that is only asked for there is no record that could hold the wish. */
	if ((now || asked) && (r == -ENOENT || (r == 0 && run_state_is_final(state))))
		r = result_of(call, &nothing, err);
	else
		r = wish(call, RUN_STOPPED, err);
	return r < 0 || !(now || asked) ? r : steer_say(call, "run.stop", asked ? not_begun : NULL, err);
}

int method_checkpoint_now(struct call *call, struct error *err)
{
	struct run_want want;
	enum run_state state;
	int r = state_of_run(call, &state, err);

	if (r < 0)
		return r;
	if (state != RUN_RUNNING && state != RUN_PAUSED)
		return is_not_allowed(call, state, err);
	r = change(edit_checkpoint, RUN_RUNNING, &want, err);
	return r < 0 ? r : result_of(call, &want, err);
}

/* ---- run.start ---- */

static const struct {
	const char *param, *key;
} overrides[] = { { "epochs", "run.epochs" }, { "seed", "run.seed" }, { "start_from", "run.start_from" } };

/* What begin takes for the next new run; without overrides, none of an earlier day may lie there. */
static int write_overrides(const struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *list = cJSON_AddObjectToObject(json, "overrides");
	const cJSON *adopt = cJSON_GetObjectItemCaseSensitive(call->request.params, "adopt");
	char path[PATH_BYTES];
	int r;

	if (!list || !cJSON_AddNumberToObject(json, "version", 1) ||
	    (adopt && !cJSON_AddItemToObject(json, "adopt", cJSON_Duplicate(adopt, false))))
		return error_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++) {
		const cJSON *item =
			cJSON_GetObjectItemCaseSensitive(call->request.params, overrides[i].param);

		if (!item)
			continue;
		if (!cJSON_AddItemToObject(list, overrides[i].key, cJSON_Duplicate(item, false)))
			return error_set(err, -ENOMEM, "no memory");
	}
	(void)path_of(PATH_RUNS, "next.json", path);
	if (!list->child && !adopt)
		return unlink(path) < 0 && errno != ENOENT
			       ? error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno))
			       : 0;
	if ((r = path_make(path_of(PATH_RUNS, NULL, path), err)) < 0)
		return r;
	r = json_print(json, &text, err);
	(void)path_of(PATH_RUNS, "next.json", path);
	return r < 0 ? r : file_write_durable(path, text, strlen(text), err);
}

static bool has_overrides(const struct call *call)
{
	for (size_t i = 0; i < sizeof(overrides) / sizeof(overrides[0]); i++)
		if (cJSON_GetObjectItemCaseSensitive(call->request.params, overrides[i].param))
			return true;
	return false;
}

/* What was not started leaves nothing for another night. */
static int started(struct call *call, int r, struct error *err)
{
	char path[PATH_BYTES];

	(void)err;
	if (r < 0 && r != -ETIMEDOUT) {
		(void)unlink(path_of(PATH_RUNS, "next.json", path));
		beginning_forget(call->server);
	}
	return r;
}

/* An unfinished run goes on: whatever was wished of it before is over. */
static int go_on(struct call *call, enum run_state state, struct error *err)
{
	const cJSON *adopt = cJSON_GetObjectItemCaseSensitive(call->request.params, "adopt");
	CLEANUP(run_done) struct run run = { 0 };
	struct run_want want;
	int r;

	if (has_overrides(call)) {
		call->code = CONTROL_STATE;
		return error_set(err, -EPERM, "the run is %s: it goes on as it began, without other values",
				 run_state_name(state));
	}
	if ((r = run_load(&run, err)) < 0)
		return r;
	if (adopt && strcmp(adopt->valuestring, run.id) != 0) {
		call->code = CONTROL_STATE;
		return error_set(err, -EPERM, "%s is %s, so no other run is adopted: let it end, or reset it",
				 run.id, run_state_name(state));
	}
	if ((r = change(edit_state, RUN_RUNNING, &want, err)) < 0)
		return r;
	return cJSON_AddStringToObject(call->result, "run", run.id) ? 0
								    : error_set(err, -ENOMEM, "no memory");
}

int method_run_start(struct call *call, struct error *err)
{
	enum run_state state;
	int r = run_state_get(&state, err);
	bool goes_on = r == 0 && !run_state_is_final(state);

	if (r < 0 && r != -ENOENT)
		return r;
	if (!goes_on && (r = config_is_good(call, config_path(0, NULL), err)) < 0)
		return r;
	call->result = cJSON_CreateObject();
	if (!cJSON_AddTrueToObject(call->result, "started"))
		return error_set(err, -ENOMEM, "no memory");
	if (goes_on) {
		if ((r = go_on(call, state, err)) < 0)
			return r;
	} else {
		if (!cJSON_AddNullToObject(call->result, "run"))
			return error_set(err, -ENOMEM, "no memory");
		if ((r = write_overrides(call, err)) < 0)
			return r;
	}
	/* Whoever asks is there: the box does not go off by itself afterwards. */
	if ((r = tonight_begin(false, err)) < 0)
		return r;
	run_asked_over(false);
	beginning_mark(call->server, goes_on);
	r = steer_say(call, "run.start", started, err);
	return r < 0 ? started(call, r, err) : r;
}
