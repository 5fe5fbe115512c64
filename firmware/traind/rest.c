/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/rest.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "drivers/gpu/gpu.h"
#include "drivers/notify/alive.h"
#include "model/adapt.h"
#include "traind/killed.h"
#include "traind/session.h"
#include "traind/train.h"

#include <inttypes.h>
#include <sysexits.h>

/* For the watchdog: time for the last checkpoint, the record, closing the device. */
#define END_LEASE_S 900u

/* A trial of a series fails once the device has had too little memory for it so often. */
#define MEMORY_TRIES 3

static uint64_t step_of(const struct train *train)
{
	return train->model ? model_step(train->model) : 0;
}

/* `why` is the reason of the rank that stops the run, which may be another one. */
static void say_stopped(const struct train *train, enum run_state rest, const struct error *why)
{
	uint64_t step = step_of(train);

	if (rest == RUN_EXPIRED)
		event_send(&(struct event){ .id = EVENT_RUN_EXPIRED, .run_id = train->run.id },
			   "%s: %s, stopped at step %" PRIu64, train->run.id, why->text, step);
	else if (rest == RUN_STOPPED && train->want.rung)
		log_info("%s: the rung has ended, stopped at step %" PRIu64, train->run.id, step);
	else if (rest == RUN_STOPPED)
		event_send(&(struct event){ .id = EVENT_RUN_STOPPED, .run_id = train->run.id, .step = step },
			   "%s: stopped at step %" PRIu64, train->run.id, step);
	else
		log_info("stopped at step %" PRIu64, step);
}

static int fail(const struct train *train, const struct error *why, struct error *err)
{
	int r;

	if (run_reason_set(why->text, err) < 0)
		log_warning("%s; the run fails without its reason", err->text);
	if (train->model)
		session_end(train, TFEVENTS_FAILURE);
	r = run_state_set(RUN_FAILED, err);
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_RUN_FAILED,
					    .run_id = train->run.id,
					    .step = step_of(train) },
			   "%s: failed at step %" PRIu64 ": %s", train->run.id, step_of(train), why->text);
	return r;
}

/* Returns the state that the run gets. If the operator stops the run, systemd's signal may come before obey()
 * has read the request. */
static enum run_state rest_of(const struct train *train)
{
	return train->want.rest == RUN_RUNNING && run_want_is_stop() ? RUN_STOPPED : train->want.rest;
}

/* Counts how often the device had too little memory for a trial of a series, and tells whether the trial
 * fails for it. Something else may use the memory for a while. The first steps take all the memory that a run
 * needs: a lack that comes later is none of the trial's size. */
static bool is_too_large(const struct train *train, int result)
{
	CLEANUP(json_free) cJSON *record = NULL, *note = cJSON_CreateObject();
	struct error err;
	double tries;

	if (result != -ENOMEM || train->warm[SPLIT_TRAIN] == WARM_BATCHES || run_record(&record, &err) < 0 ||
	    !json_member(record, "series.id"))
		return false;
	tries = json_number(record, "memory_tries", 0) + 1;
	return cJSON_AddNumberToObject(note, "memory_tries", tries) && run_note_members(note, &err) == 0 &&
	       tries >= MEMORY_TRIES;
}

/* Notes the state of the run. Where the ranks do not know each other's errors, the one that fails notes it.
 */
static void note_end(const struct train *train, int result, enum run_state state, int exit_code,
		     const struct error *err)
{
	struct error state_err;

	if (result == -ECANCELED)
		say_stopped(train, state, err);
	if ((state != RUN_RUNNING && run_state_set(state, &state_err) < 0) ||
	    (exit_code == EX_DATAERR && fail(train, err, &state_err) < 0) ||
	    ((state != RUN_RUNNING || result == 0) && run_rest(&state_err) < 0))
		log_err("%s", state_err.text);
}

int rest(struct train *train, int result, struct error *err)
{
	const bool canceled = result == -ECANCELED, leads = world_leads(&train->world);
	enum run_state state = canceled ? rest_of(train) : RUN_RUNNING;
	struct error state_err;
	int exit_code;

	if (leads && is_too_large(train, result)) {
		err->code = -EBADMSG;
		(void)error_prefix(err, "the trial is too large");
	}
	exit_code = result == 0 || canceled ? EX_OK : alive_fatal(STATUS_TRAIND, err);
	exit_code = world_exit_code(&train->world, exit_code);
	alive_lease(train->worker, NULL, END_LEASE_S);
	if (leads)
		killed_forget();
	throttle_close(train);
	/* A run that has ended without error has written its time into run.json already. */
	if (result < 0 && train->record.opened && record_write_time(train, &state_err) < 0)
		log_warning("%s; run.json lacks the time of this process", state_err.text);
	record_close(train);
	writer_close(train);
	quarantine_close(&train->quarantine);
	best_close(&train->best);
	adapt_close(train->adapt);
	publish_close(train); /* before the state changes: who sees the new state sees the last step */
	rounds_close(&train->rounds);
	if (leads || !train->world.agreed)
		note_end(train, result, state, exit_code, err);
	world_leave(train, result < 0, exit_code);
	model_close(train->model); /* the device may read batches in the ring until the model is closed */
	ring_close(train->ring);
	gpu_close(train->gpu);
	run_done(&train->run);
	return exit_code;
}
