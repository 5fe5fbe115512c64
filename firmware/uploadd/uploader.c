/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/uploader.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/later.h"
#include "drivers/notify/notify.h"
#include "drivers/versions/versions.h"

#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define SCAN_MS         2000u
#define BACK_OFF_MS     1000u
#define BACK_OFF_MAX_MS 60000u

/* Returns whether waiting may help. It does not help after a refused credential or a wrong configuration, or
 * where somebody else has the run's branch (-EEXIST). */
static bool may_pass(const struct error *err)
{
	int code = error_exit_code(err);

	return code != EX_NOPERM && code != EX_CONFIG && err->code != -EEXIST;
}

/* Tells whether the refusal is of one branch, and a new start would find the same: somebody else has the
 * branch, or a hook of the repository refuses it. */
static bool is_of_a_branch(const struct error *err)
{
	return err->code == -EEXIST || err->code == -EPERM;
}

/* ---- Runs ---- */

/* Calls `is` for each slot, until one says yes. Returns whether one did. */
static bool in_any_slot(bool (*is)(const void *context), const void *context)
{
	bool found = false;

	for (unsigned slot = 0; slot < SLOTS_MAX && !found; slot++) {
		(void)slot_use(slot);
		found = is(context);
	}
	(void)slot_use(0);
	return found;
}

static bool is_current(const void *run_id)
{
	CLEANUP(run_done) struct run run = { 0 };

	return run_load(&run, NULL) == 0 && strcmp(run.id, run_id) == 0;
}

/* Tells whether a slot has opened the run as its current one. */
static bool is_open(const struct uploader *uploader, const char *run_id)
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++)
		if (strcmp(run_id, uploader->place[slot].current.run.id) == 0)
			return true;
	return false;
}

/* Makes a pass over a run of an earlier night. After an error for which waiting does not help the run stays
 * in the spool, until a person acts. */
static int pass_archived(void *context, const char *run_id)
{
	struct uploader *uploader = context;
	struct upload upload;
	struct run run = { 0 };
	bool complete = false;
	int r;

	/* The current run has its own pass. A parked run goes on, or its record moves to the archive. */
	if (is_open(uploader, run_id) || is_current(run_id) || run_is_parked(run_id) ||
	    refused_rests(&uploader->refused, run_id))
		return 0;
	r = run_load_archived(run_id, &run, uploader->err);
	if (r == -ENOENT && in_any_slot(is_current, run_id))
		return 0; /* the run has begun meanwhile, or was parked and goes on */
	if (r == 0 && (r = upload_open(&upload, &run, true, uploader->worker, uploader->err)) == 0) {
		r = upload_pass(&upload, uploader->tracker, &complete, uploader->err);
		upload_close(&upload);
	}
	if (r < 0 && may_pass(uploader->err))
		return r;
	if (r < 0)
		refused_archived(&uploader->refused, run_id, uploader->err);
	uploader->left = uploader->left || (r == 0 && !complete);
	return 0;
}

/* Tells whether a run is committed already, because its folder in the spool is gone: then another pass would
 * make its branch, or commit what a promotion has put there. */
static bool is_committed(const struct run *run)
{
	return run_state_is_final(run->state) && versions_has_branches(&run->config.sink) &&
	       !spool_has(run->id);
}

/* Opens the current run of this slot, which may be another one than at the last pass. Where it is committed,
 * only notes that it is complete. */
static int open_current(struct uploader *uploader, struct error *err)
{
	struct place *place = &uploader->place[slot_now()];
	struct upload *current = &place->current;
	struct run run = { 0 };
	int r = run_load(&run, err);

	if (r == -ENOENT && (!uploader->drain || slot_now() > 0)) {
		upload_close(current);
		place->complete[0] = '\0';
		return 0;
	}
	if (r < 0)
		return r;
	if (current->store && strcmp(current->run.id, run.id) == 0) {
		current->run.state = run.state;
		run_done(&run);
		return 0;
	}
	upload_close(current);
	/* kiln-oneshot begin makes the folder once the run's id is claimed: run.json in the store is the
	 * claim. */
	if (!run_state_is_final(run.state) && !spool_has(run.id)) {
		place->complete[0] = '\0';
		run_done(&run);
		return 0;
	}
	/* A trial of an older night, or of another series: it is complete, or pass_archived() uploads it. */
	if (slot_now() > 0 && run_state_is_final(run.state) && run_is_archived()) {
		run_done(&run);
		return 0;
	}
	if (is_committed(&run)) {
		current->run = run;
		memcpy(place->complete, run.id, sizeof(place->complete));
		return 0;
	}
	uploader->status.uploadd.busy_us = 0;
	r = upload_open(current, &run, false, uploader->worker, err);
	if (r == 0)
		notify_status("uploading %s to %s", current->run.id, store_url(current->store));
	return r;
}

static int timed_pass(struct uploader *uploader, struct upload *current, bool *ret_complete,
		      struct error *err)
{
	const uint64_t start_us = clock_us(), sent = store_counters_of(current->store).bytes_out;
	int r = upload_pass(current, uploader->tracker, ret_complete, err);

	if (store_counters_of(current->store).bytes_out > sent)
		uploader->status.uploadd.busy_us += clock_us() - start_us;
	return r;
}

/* Makes a pass over the current run of this slot. */
static int pass_current(struct uploader *uploader, struct error *err)
{
	struct place *place = &uploader->place[slot_now()];
	struct upload *current = &place->current;
	bool complete = false;
	int r = open_current(uploader, err);

	if (r == 0 && current->store && strcmp(place->complete, current->run.id) != 0) {
		watch_run(&uploader->watch, current->run.id);
		r = timed_pass(uploader, current, &complete, err);
	}
	if (r == 0 && complete) {
		event_send(&(struct event){ .id = EVENT_UPLOADS_COMPLETE,
					    .run_id = current->run.id,
					    .url = store_url(current->store) },
			   "%s: %s, and all its files are in %s", current->run.id,
			   run_state_name(current->run.state), store_url(current->store));
		memcpy(place->complete, current->run.id, sizeof(place->complete));
	}
	place->refused = r < 0 && !may_pass(err) && refused_current(err);
	return r;
}

/* Makes a pass over the current runs of the slots after the first. An error of one keeps no other from its
 * pass. Returns the first error. */
static int pass_beside(struct uploader *uploader, struct error *err)
{
	struct error other;
	int r, first = 0;

	for (unsigned slot = 1; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		r = pass_current(uploader, first < 0 ? &other : err);
		first = first < 0 ? first : r;
	}
	(void)slot_use(0);
	return first;
}

/* Makes a pass over the archived runs, and then over the series. `beside_done`: the store has all files of
 * the other slots, or refuses them for good. */
static int pass_older(struct uploader *uploader, bool beside_done, struct error *err)
{
	int r = spool_runs(pass_archived, uploader, err);

	return r < 0 || !beside_done ? r : series_upload(&uploader->series, uploader->worker, err);
}

/* A current run whose files the store refuses for good keeps no other from its pass. */
static int pass_runs(struct uploader *uploader, struct error *err)
{
	struct error own = { 0 }, beside = { 0 };
	const int current = pass_current(uploader, &own), others = pass_beside(uploader, &beside);
	int r = 0;

	uploader->left = false;
	uploader->err = err;
	if (current == 0 || !may_pass(&own))
		r = pass_older(uploader, others == 0 || !may_pass(&beside), err);
	if (r < 0 && (current == 0 || may_pass(err)))
		return r;
	if (current < 0 || others < 0)
		*err = current < 0 ? own : beside;
	return current < 0 ? current : others;
}

/* A record of a series that cannot be read keeps no run from its pass. */
static int pass(struct uploader *uploader, struct error *err)
{
	struct error unread = { 0 };
	const int read = series_read(&uploader->series, &unread), r = pass_runs(uploader, err);

	series_forget(&uploader->series);
	if (r < 0 || read == 0)
		return r;
	*err = unread;
	return read;
}

/* Waits, and trims the spool meanwhile, because traind goes on writing checkpoints. An error of the trimming
 * is logged only for debugging: the pass before has reported the same error. */
static void back_off(struct uploader *uploader, int ms)
{
	struct error err;

	for (;; alive_tick(uploader->worker)) {
		for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
			(void)slot_use(slot);
			if (upload_trim_spool(&err) < 0 && err.code != -ENOENT)
				log_debug("%s", err.text);
		}
		(void)slot_use(0);
		if (ms <= 0)
			return;
		(void)usleep((ms < (int)SCAN_MS ? (useconds_t)ms : SCAN_MS) * 1000);
		ms -= (int)SCAN_MS;
	}
}

/* ---- The page ---- */

void uploader_open_page(struct uploader *uploader)
{
	struct error err;

	if (status_open(STATUS_UPLOADD, &uploader->page, &err) < 0)
		log_warning("no status page: %s", err.text);
}

void uploader_open_tracker(struct uploader *uploader)
{
	struct error err;

	if (tracker_open(&uploader->tracker, &err) < 0)
		log_warning("runs are not tracked: %s", err.text);
}

static void publish(struct uploader *uploader, const char *phase, const char *text)
{
	const struct upload *current = &uploader->place[0].current;
	struct status_uploadd *uploadd = &uploader->status.uploadd;
	struct store_counters counters = { 0 };

	if (current->store)
		counters = store_counters_of(current->store);
	if (current->store && current->latest != uploadd->checkpoint_step) {
		uploadd->checkpoint_us = *uploader->status.run_id ? (uint64_t)time(NULL) * 1000000 : 0;
		uploadd->checkpoint_step = current->latest;
	}
	uploadd->bytes = counters.bytes_out;
	uploadd->retries = store_counters_retries(&counters);
	tracker_status(uploader->tracker, uploadd);
	(void)snprintf(uploader->status.run_id, sizeof(uploader->status.run_id), "%s", current->run.id);
	(void)snprintf(uploader->status.phase, sizeof(uploader->status.phase), "%s", phase);
	(void)snprintf(uploader->status.text, sizeof(uploader->status.text), "%.255s", text);
	if (uploader->page)
		status_write(uploader->page, &uploader->status);
}

/* The first failure is an event; the failures that follow it are log lines. */
static void say_failing(const struct uploader *uploader, int back_off_ms)
{
	const char *text = uploader->err->text;

	if (back_off_ms == (int)BACK_OFF_MS)
		event_send(&(struct event){ .id = EVENT_UPLOADS_FAILING,
					    .run_id = uploader->place[0].current.run.id },
			   "%s, trying again in %d s", text, back_off_ms / 1000);
	else
		log_warning("%s, trying again in %d s", text, back_off_ms / 1000);
}

/* Tells whether files of a trial that has ended in another slot are not in the store. An unfinished run of
 * another slot is no reason to wait: whoever drains has ended its trainer, or never started one. */
static bool is_left_beside(const struct uploader *uploader)
{
	for (unsigned slot = 1; slot < SLOTS_MAX; slot++) {
		const struct place *place = &uploader->place[slot];

		if (place->current.store && run_state_is_final(place->current.run.state) &&
		    strcmp(place->complete, place->current.run.id) != 0)
			return true;
	}
	return false;
}

/* Returns whether the trainer may go on writing checkpoints: the process must not end then, whatever the
 * error, because it trims the spool. */
static bool is_needed(const void *uploader)
{
	CLEANUP(run_done) struct run run = { 0 };

	return run_load(&run, NULL) == 0 && !run_state_is_final(run.state) &&
	       !(((const struct uploader *)uploader)->drain && (slot_now() > 0 || uploader_rests()));
}

static int leased_pass(struct uploader *uploader, struct error *err)
{
	int r;

	alive_lease(uploader->worker, NULL, UPLOAD_QUIET_S);
	r = pass(uploader, err);
	alive_lease_end(uploader->worker);
	if (r < 0)
		publish(uploader, may_pass(err) ? "waiting" : "degraded", err->text);
	else if (uploader->left)
		publish(uploader, "waiting", "runs of earlier nights are not all in the store");
	else
		publish(uploader, "watching", "the spool");
	return r;
}

/* The last night was too short for the uploads, or for the judgement: once the uploads are complete, or the
 * store refuses them for good, its model can be judged. */
static void ask_judgement(struct uploader *uploader)
{
	const struct place *place = &uploader->place[0];

	if (!uploader->left && (place->refused || strcmp(place->complete, place->current.run.id) == 0))
		asking_judgement(&uploader->asking, place->current.run.id);
}

int uploader_run(struct uploader *uploader, struct error *err)
{
	int back_off_ms = BACK_OFF_MS;

	for (;;) {
		/* Both before the pass: what was written before them is uploaded by it. */
		const bool rests = uploader_rests(), unjudged = later_is_noted(LATER_JUDGE);
		int r = leased_pass(uploader, err);

		if (unjudged && (r == 0 || !may_pass(err)))
			ask_judgement(uploader);
		if (!uploader->drain && (r == 0 || !may_pass(err)))
			asking_report(&uploader->report);
		if (r == 0 && uploader->drain && !uploader->left && !is_left_beside(uploader) &&
		    (rests || strcmp(uploader->place[0].complete, uploader->place[0].current.run.id) == 0))
			return 0;
		if (r == 0) {
			alive_progress();
			if (back_off_ms > (int)BACK_OFF_MS)
				event_send(&(struct event){ .id = EVENT_UPLOADS_BACK,
							    .run_id = uploader->place[0].current.run.id },
					   "uploading works again");
			back_off_ms = BACK_OFF_MS;
			watch_wait(&uploader->watch, SCAN_MS);
			continue;
		}
		if (!may_pass(err) && !in_any_slot(is_needed, uploader) &&
		    (uploader->drain || !is_of_a_branch(err)))
			return r;
		if (!may_pass(err))
			uploader_close(uploader); /* a person may give another credential */
		say_failing(uploader, back_off_ms);
		notify_status("waiting: %s", err->text);
		back_off(uploader, back_off_ms);
		back_off_ms = 2 * back_off_ms < (int)BACK_OFF_MAX_MS ? 2 * back_off_ms : (int)BACK_OFF_MAX_MS;
	}
}

void uploader_close(struct uploader *uploader)
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++)
		upload_close(&uploader->place[slot].current);
}
