/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that change a run. They write a request, which traind obeys between two steps
 * (core/run/run.h), or send a word to kiln-steer. */
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "controld/methods/request.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/series/series.h"

#include <string.h>

#define REASON_BYTES 1024u

/* Reads the current run's state. Errors: -ENOENT with CONTROL_NOT_FOUND, there is no run. */
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
			 state == RUN_STOPPED || state == RUN_EXPIRED ? "; kiln start goes on with it" : "");
}

static int result_of(struct call *call, const struct run_want *want, struct error *err)
{
	call->result = cJSON_CreateObject();
	if (call->result && cJSON_AddStringToObject(call->result, "wanted", run_state_name(want->state)) &&
	    json_add_u64(call->result, "seq", want->seq) &&
	    json_add_u64(call->result, "checkpoint_seq", want->checkpoint_seq))
		return 0;
	return call_no_memory(err);
}

/* Asks the run of this slot for a state. Returns 1 where it can be asked, 0 where its state forbids that, or
 * there is none. */
static int ask_state(enum run_state wanted, struct run_want *ret_want, struct error *err)
{
	enum run_state state;
	int r;

	if (run_state_get(&state, NULL) < 0 ||
	    (state != RUN_RUNNING && state != RUN_PAUSED && !(wanted == RUN_STOPPED && state <= RUN_STOPPED)))
		return 0;
	r = request_state(wanted, ret_want, err);
	return r < 0 ? r : 1;
}

/* Asks for one more checkpoint of the run of this slot. Returns as ask_state(). */
static int ask_checkpoint(enum run_state wanted, struct run_want *ret_want, struct error *err)
{
	enum run_state state;
	int r;

	(void)wanted;
	if (run_state_get(&state, NULL) < 0 || (state != RUN_RUNNING && state != RUN_PAUSED))
		return 0;
	r = request_checkpoint(ret_want, err);
	return r < 0 ? r : 1;
}

/* Asks the runs of all slots. Returns 1 where any can be asked; *ret_want is the request to the first of
 * them.
 */
static int ask_slots(int (*ask)(enum run_state, struct run_want *, struct error *), enum run_state wanted,
		     struct run_want *ret_want, struct error *err)
{
	struct run_want want;
	bool any = false;
	int r = 0;

	for (unsigned slot = 0; r >= 0 && slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		r = ask(wanted, &want, err);
		if (r > 0 && !any)
			*ret_want = want;
		any = any || r > 0;
	}
	(void)slot_use(0);
	return r < 0 ? r : any;
}

/* The same as a method: where no run can be asked, that is its error. */
static int ask_all(struct call *call, int (*ask)(enum run_state, struct run_want *, struct error *),
		   enum run_state wanted, struct error *err)
{
	struct run_want want;
	enum run_state state;
	int r = ask_slots(ask, wanted, &want, err);

	if (r != 0)
		return r < 0 ? r : result_of(call, &want, err);
	r = state_of_run(call, &state, err);
	return r < 0 ? r : is_not_allowed(call, state, err);
}

static int change_state(struct call *call, enum run_state wanted, struct error *err)
{
	return ask_all(call, ask_state, wanted, err);
}

/* The same where several slots work on a series: the series is asked, too, for the sake of a slot that begins
 * a trial at this moment, and so has no run that can be asked. */
static int pause_all(struct call *call, bool paused, struct error *err)
{
	struct run_want want = { .state = paused ? RUN_PAUSED : RUN_RUNNING };
	const enum run_state wanted = want.state;
	int r = series_pause(paused, err);

	if (r <= 0)
		return r < 0 ? r : change_state(call, wanted, err);
	r = ask_slots(ask_state, wanted, &want, err);
	return r < 0 ? r : result_of(call, &want, err);
}

int method_run_pause(struct call *call, struct error *err)
{
	return pause_all(call, true, err);
}

int method_run_resume(struct call *call, struct error *err)
{
	return pause_all(call, false, err);
}

/* Tells whether several slots work on a series. */
static bool works_beside(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 && series_slots(series) > 1 &&
	       series_state_of(series) == SERIES_RUNNING;
}

/* Writes that the unfinished series, if there is one, is stopped, so that it does not go on after a boot. */
static int stop_series(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_lock_soon(&lock, err);

	if (r < 0 || (r = series_load_unfinished(&series, err)) < 0)
		return r == -ENOENT ? 0 : r;
	series_set_state(series, SERIES_STOPPED);
	return series_write(series, err);
}

/* Asks all runs to stop. The series stops, too, where several slots work on it: a slot that begins a trial at
 * this moment has no run that can be asked. */
static int stop_all(struct call *call, struct error *err)
{
	struct run_want want = { .state = RUN_STOPPED };
	int r;

	if (!works_beside())
		return change_state(call, RUN_STOPPED, err);
	if ((r = ask_slots(ask_state, RUN_STOPPED, &want, err)) < 0 || (r = stop_series(err)) < 0)
		return r;
	return result_of(call, &want, err);
}

/* Writes that the run of slot 0 is stopped, after kiln-steer has stopped kiln-begin (steer_done_fn). The run
 * has not begun, so no other process works on it and would write that. */
static int not_begun(struct call *call, int r, struct error *err)
{
	enum run_state state;

	(void)call;
	/* Where the series cannot be changed at this moment, the request stays, and kiln stop is tried again.
	 */
	if (r < 0 || (r = stop_series(err)) < 0)
		return r;
	run_asked_over(true);
	if (run_state_get(&state, NULL) < 0 || state >= RUN_STOPPED)
		return 0;
	return run_state_set(RUN_STOPPED, err);
}

/* Tells whether slot 0 has no trial while others train: its kiln-begin waits, and ends by itself when the
 * series is stopped. */
static bool slot_0_waits(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) < 0)
		return false;
	for (uint32_t i = 0; i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);

		if (trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) == 0)
			return false;
	}
	return series_runs_elsewhere(series, 0);
}

int method_run_stop(struct call *call, struct error *err)
{
	const bool now = control_flag(&call->request, "now");
	struct run_want want = { .state = RUN_STOPPED };
	enum run_state state;
	int64_t since;
	bool asked;
	int there, r;

	beginning_forget(&call->box->beginning);
	asked = run_asked_get(&since, NULL) == 0;
	if (!now && !asked)
		return stop_all(call, err);
	/* A run that was requested and has not begun has no record that could hold the request. */
	there = run_state_get(&state, err);
	if (there < 0 && there != -ENOENT)
		return there;
	if ((r = ask_slots(ask_state, RUN_STOPPED, &want, err)) < 0)
		return r;
	if (r == 0 && there == 0 && !run_state_is_final(state))
		return is_not_allowed(call, state, err);
	if ((r = result_of(call, &want, err)) < 0)
		return r;
	if (slot_0_waits())
		return (r = stop_series(err)) < 0 || !now ? r : steer_say(call, "slots.stop", NULL, err);
	if (works_beside() && (r = stop_series(err)) < 0)
		return r;
	return steer_say(call, now ? "run.stop" : "begin.stop", asked ? not_begun : NULL, err);
}

/* Checks that the run is unfinished and that no trainer works on it. A run that has halted has the state
 * running, but its trainer has ended. `id` NULL: no trainer may work at all. */
static int may_abandon(struct call *call, enum run_state state, const char *id, struct error *err)
{
	const struct status *trainer;

	if (run_state_is_final(state))
		return is_not_allowed(call, state, err);
	watch_sample(&call->box->watch);
	trainer = watch_newest(&call->box->watch, STATUS_TRAIND);
	if (!trainer || (id && strcmp(trainer->run_id, id) != 0) || !watch_is_alive(trainer))
		return 0;
	call->code = CONTROL_STATE;
	return error_set(err, -EPERM, "%s is %s, and its trainer works: kiln stop first", id ? id : "the run",
			 run_state_name(state));
}

/* Checks that no trainer works in another slot: the series ends with all its trials. */
static int may_abandon_beside(struct call *call, struct error *err)
{
	struct status page;
	bool works = false;

	for (unsigned slot = 1; slot < SLOTS_MAX && !works; slot++) {
		(void)slot_use(slot);
		works = status_read(STATUS_TRAIND, &page, NULL) == 0 && watch_is_alive(&page);
	}
	(void)slot_use(0);
	if (!works)
		return 0;
	call->code = CONTROL_STATE;
	return error_set(err, -EPERM, "the trainer of %s works: kiln stop first", page.run_id);
}

/* Ends the run. Its reason stays readable in the new one. */
static int end_abandoned(const char *record_text, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char reason[REASON_BYTES];
	const cJSON *before;
	int r = json_parse("run.json", record_text, strlen(record_text), &record, err);

	if (r < 0)
		return r;
	before = cJSON_GetObjectItemCaseSensitive(record, "reason");
	(void)snprintf(reason, sizeof(reason), "a person gave it up%s%s",
		       cJSON_IsString(before) ? "; before: " : "",
		       cJSON_IsString(before) ? before->valuestring : "");
	if ((r = run_note("{\"abandoned\": true}", err)) < 0)
		return r;
	return run_end(RUN_FAILED, reason, err);
}

/* Gives a run up whose record no program can read: there is no current run then. `err` says why run_load()
 * has failed, and says it still where the record is damaged in another way. */
static int abandon_unreadable(struct call *call, enum run_state state, struct error *err)
{
	const struct error why = *err;
	char path[PATH_BYTES];
	int r = may_abandon(call, state, NULL, err);

	if (r < 0 || (r = run_set_aside(path, err)) < 0)
		return r;
	if (r == 0) {
		*err = why;
		return why.code;
	}
	run_asked_over(true);
	log_warning("%s; a person gave the run up, and its record is now in %s", why.text, path);
	call->result = cJSON_CreateObject();
	return cJSON_AddNullToObject(call->result, "run") ? 0 : call_no_memory(err);
}

/* Gives up a series that waits, without an unfinished run. Returns 0 where there is none. */
static int abandon_series(struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_load_unfinished(&series, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if ((r = may_abandon_beside(call, err)) < 0 || (r = series_give_up(series, err)) < 0)
		return r;
	run_asked_over(true);
	log_notice("%s was %s, and a person gave it up", series_id(series),
		   series_state_name(series_state_of(series)));
	call->result = cJSON_CreateObject();
	return cJSON_AddNullToObject(call->result, "run") ? 1 : call_no_memory(err);
}

/* Makes an unfinished run a failed one. Its files in the store stay, and kiln-uploadd uploads the record and
 * what is in the spool. */
int method_run_abandon(struct call *call, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	enum run_state state;
	int r = run_state_get(&state, err);

	if ((r == -ENOENT || (r == 0 && run_state_is_final(state))) && (r = abandon_series(call, err)) != 0)
		return r < 0 ? r : 0;
	if ((r = state_of_run(call, &state, err)) < 0)
		return r;
	r = run_load(&run, err);
	if (r == -E2BIG || r == -EBADMSG)
		return abandon_unreadable(call, state, err);
	if (r < 0 || (r = may_abandon(call, state, run.id, err)) < 0 ||
	    (r = may_abandon_beside(call, err)) < 0 || (r = run_json(&text, err)) < 0 ||
	    (r = end_abandoned(text, err)) < 0)
		return r;
	run_asked_over(true);
	event_send(&(struct event){ .id = EVENT_RUN_ABANDONED, .run_id = run.id },
		   "%s was %s, and a person gave it up", run.id, run_state_name(state));
	call->result = cJSON_CreateObject();
	return cJSON_AddStringToObject(call->result, "run", run.id) ? 0 : call_no_memory(err);
}

int method_checkpoint_now(struct call *call, struct error *err)
{
	return ask_all(call, ask_checkpoint, RUN_RUNNING, err);
}
