/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows a run. After a trial of a series the next trial starts at once, or the wait for one. Else, in
 * slot 0: waits until the other slots rest; waits until the store has all of the run's files, for
 * power.upload_wait_min at most; has the model judged (promote.against), or leaves that to the end of the
 * uploads (core/run/later.h); archives a final record; asks for the report; then does what
 * power.when_finished says. Before the box is switched off, the tracking server is told the rest, within the
 * same power.upload_wait_min. A series whose trials are all parked, or work in other slots, has no run in
 * slot 0: its night ends in the same way.
 */
#include "oneshot/night/finished.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/box/tonight.h"
#include "core/run/spool.h"
#include "core/run/status.h"
#include "drivers/manager/manager.h"
#include "oneshot/night/night.h"
#include "oneshot/night/power.h"
#include "oneshot/night/start_slots.h"
#include "oneshot/promote/ask.h"
#include "oneshot/report/ask.h"
#include "oneshot/series/after.h"
#include "oneshot/series/freeze.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define POLL_S    1
#define NAMES_MAX 8u /* upper bound of file names in the message about files that are not in the store */

/* Returns whether kiln-uploadd has uploaded everything. It writes its status page after each pass over the
 * spool. The first new page after the run's end may belong to a pass that began before the last file existed,
 * so wait for the second. The page that is there at the beginning counts as new, too: so three pages in all.
 */
static bool is_uploaded(uint64_t *last_us, unsigned *pages, struct status *status)
{
	if (status_read(STATUS_UPLOADD, status, NULL) < 0)
		return false;
	if (status->updated_us > *last_us)
		++*pages;
	*last_us = status->updated_us;
	return *pages > 2 && strcmp(status->phase, "watching") == 0;
}

/* Returns false where wait_min passed before everything was uploaded. *status is kiln-uploadd's last status
 * page. */
static bool wait_for_uploads(uint64_t wait_min, struct status *status)
{
	uint64_t start_us = clock_us(), last_us = 0;
	unsigned pages = 0;

	while (!is_uploaded(&last_us, &pages, status)) {
		if (clock_us() - start_us >= wait_min * 60 * 1000000)
			return false;
		(void)sleep(POLL_S);
	}
	return true;
}

/* ---- The tracking server ---- */

/* Returns whether kiln-uploadd has told the tracking server everything. As in is_uploaded() the second pass
 * after the first page counts. */
static bool is_told(uint64_t *last, unsigned *passes, struct status *status)
{
	if (status_read(STATUS_UPLOADD, status, NULL) < 0)
		return false;
	if (status->uploadd.track_passes != *last)
		++*passes;
	*last = status->uploadd.track_passes;
	return *passes > 2 && status->uploadd.track_behind == 0;
}

/* Waits until the tracking server knows that the night is over, before the box is switched off: until
 * power.upload_wait_min have passed since start_us. Says what is left then; the next start of the box tells
 * it. */
static void wait_for_tracking(const struct config *config, const char *run_id, uint64_t start_us)
{
	const uint64_t wait_us = config->power.upload_wait_min * 60 * 1000000;
	struct status status = { 0 };
	uint64_t last = UINT64_MAX;
	unsigned passes = 0;

	if (!*config->tracking.url)
		return;
	while (!is_told(&last, &passes, &status)) {
		if (clock_us() - start_us >= wait_us) {
			log_warning("%s: the tracking server may not have been told all after %" PRIu64
				    " minutes: %" PRIu64 " runs, series or champions are left (kiln-uploadd: "
				    "%s); they are told after the "
				    "next start",
				    run_id, config->power.upload_wait_min, status.uploadd.track_behind,
				    *status.uploadd.tracking ? status.uploadd.tracking : "it says nothing");
			return;
		}
		(void)sleep(POLL_S);
	}
	log_info("%s: the tracking server knows all", run_id);
}

/* ---- Files that the store lacks ---- */

struct left {
	bool any_stored;
	uint64_t stored; /* step of the newest checkpoint in the store */
	uint64_t files, bytes;
	cJSON *names; /* names of the first NAMES_MAX files */
};

static int note_file(void *context, const char *name, uint64_t bytes)
{
	struct left *left = context;
	int64_t step = spool_checkpoint_step(name);

	/* The store has this checkpoint: the spool keeps the newest ones for kiln-traind. */
	if (step >= 0 && left->any_stored && (uint64_t)step <= left->stored)
		return 0;
	left->files++;
	left->bytes += bytes;
	if (left->files <= NAMES_MAX)
		cJSON_AddItemToArray(left->names, cJSON_CreateString(name));
	return 0;
}

static void say_left(const char *run_id, const struct left *left, const char *why)
{
	char names[NAMES_MAX * 64 + 32] = "";
	const cJSON *name;
	size_t used = 0;

	cJSON_ArrayForEach(name, left->names) {
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
					 name->valuestring);
		if (used >= sizeof(names))
			break;
	}
	if (left->files > NAMES_MAX && used < sizeof(names))
		(void)snprintf(names + used, sizeof(names) - used, ", and %" PRIu64 " more",
			       left->files - NAMES_MAX);
	event_send(&(struct event){ .id = EVENT_UPLOADS_LEFT,
				    .run_id = run_id,
				    .count = left->files,
				    .bytes = left->bytes },
		   "%s: %" PRIu64 " files of %" PRIu64 " bytes stay in the spool %s: %s", run_id, left->files,
		   left->bytes, why, names);
}

static int note_left(const struct left *left, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	cJSON *behind = cJSON_AddObjectToObject(note, "left_behind");

	if (!behind || !json_add_u64(behind, "at_s", (uint64_t)time(NULL)) ||
	    !json_add_u64(behind, "files", left->files) || !json_add_u64(behind, "bytes", left->bytes) ||
	    !cJSON_AddItemToObject(behind, "names", cJSON_Duplicate(left->names, true)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(note, err);
}

struct report {
	const char *run_id; /* id of the current run */
	const struct status *status;
	const char *why;
	struct error *err;
};

static int report_run(void *context, const char *run_id)
{
	CLEANUP(json_free) cJSON *names = cJSON_CreateArray();
	const struct report *report = context;
	const struct status_uploadd *uploadd = &report->status->uploadd;
	struct left left = { .names = names };
	bool current = strcmp(run_id, report->run_id) == 0;
	int r;

	left.any_stored = strcmp(run_id, report->status->run_id) == 0 &&
			  (uploadd->checkpoint_step || uploadd->checkpoint_us);
	left.stored = uploadd->checkpoint_step;
	r = spool_list(run_id, note_file, &left, report->err);
	if (r < 0 || !left.files)
		return r;
	say_left(run_id, &left, report->why);
	return current ? note_left(&left, report->err) : 0;
}

/* Sends an event for each run of which files are not in the store, and notes the files of the current run in
 * its record. */
static int report_left(const char *run_id, uint64_t wait_min, const struct status *status, struct error *err)
{
	char why[sizeof(status->text) + 64];
	struct report report = { run_id, status, why, err };

	(void)snprintf(why, sizeof(why), "after %" PRIu64 " minutes (kiln-uploadd: %s)", wait_min,
		       *status->text ? status->text : "it says nothing");
	return spool_runs(report_run, &report, err);
}

/* Tells whether the store refuses the files of the current run, and waiting does not help. */
static bool is_refused(void)
{
	CLEANUP(json_free) cJSON *record = NULL;

	return run_record(&record, NULL) == 0 && cJSON_HasObjectItem(record, "uploads_refused");
}

static int put_away(const struct run *run, uint64_t wait_min, struct error *err)
{
	struct status status = { 0 };
	int r = 0;

	if (wait_for_uploads(wait_min, &status)) {
		log_info("%s: all of its files are in the store", run->id);
		/* Before the record is in the archive: a power cut here starts this program again. */
		if (run->state == RUN_FINISHED)
			promote_ask(&run->config);
	} else {
		r = report_left(run->id, wait_min, &status, err);
		if (run->state == RUN_FINISHED)
			(is_refused() ? promote_ask : promote_later)(&run->config);
	}
	return r == 0 && run_state_is_final(run->state) ? run_archive(err) : r;
}

/* Returns whether a person stopped the run of this slot, or asked it to stop before the power failed. A run
 * that stopped because of heat does not count. A request that cannot be read may be a person's. */
static bool is_stopped(void)
{
	enum run_state state;
	struct run_want want;
	struct error err;

	return run_state_get(&state, NULL) == 0 && !run_state_is_final(state) &&
	       (run_want_get(&want, &err) < 0 || want.state == RUN_STOPPED);
}

/* Returns whether a person stopped the night, and so is probably working with the box. */
static bool is_stopped_by_hand(void)
{
	const unsigned slots = series_slots_tonight(), mine = slot_now();
	bool stopped = false;

	for (unsigned slot = 0; slot < slots && !stopped; slot++) {
		(void)slot_use(slot);
		stopped = is_stopped();
	}
	(void)slot_use(mine);
	return stopped;
}

/* Starts the next trial of a series in this slot, or the wait for one: systemd then ends this process,
 * because kiln-finished.service conflicts with the run. */
static int start_trial(struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = slot_now() == 0 ? run_asked_set(after_since(), err) : 0;

	return r < 0 || (r = manager_open(&manager, err)) < 0 ? r : manager_start_trial(manager, err);
}

/* Notes what a trial of a series did. Returns 1 where the night goes on in this slot. */
static int end_trial(struct error *err)
{
	enum after after;
	int r = after_run(&after, err);

	if (r < 0 || (after != AFTER_NEXT && after != AFTER_WAIT))
		return r;
	return (r = start_trial(err)) < 0 ? r : 1;
}

/* Loads the run of this slot. Where the series has parked it: what the end of the night needs to know of the
 * series, which has the id and the configuration of a run. Errors: -ENOENT there is neither. */
static int load_rested(struct run *ret_run, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int r = run_load(ret_run, err);

	if (r != -ENOENT || series_load_unfinished(&series, NULL) < 0)
		return r;
	(void)snprintf(ret_run->id, sizeof(ret_run->id), "%s", series_id(series));
	ret_run->state = series_state_of(series) == SERIES_STOPPED ? RUN_STOPPED : RUN_EXPIRED;
	return freeze_config(series, &ret_run->config, err);
}

/* Whether the box is switched off depends on the present kiln.conf, and not on the frozen configuration of
 * the run. Where kiln.conf has mistakes the box stays on. */
int finished_rest(bool trials, bool power, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	const uint64_t start_us = clock_us();
	struct error put_away_err = { 0 };
	struct tonight tonight, *night;
	char path[PATH_BYTES];
	int r, put;

	/* Remove RUN_REST_FILE (the mark) first: when a box is switched on again after a power cut, this
	 * service runs a second time, and must not switch the box off.
	 */
	if (unlink(path_of(PATH_RUN, RUN_REST_FILE, path)) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	if (trials && (r = end_trial(err)) != 0)
		return r < 0 ? r : 0;
	/* Slot 0 ends the night. */
	if (slot_now() > 0)
		return 0;
	start_slots_wait_rest();
	if ((r = load_rested(&run, err)) < 0)
		return r;
	log_notice("%s: %s", run.id, run_state_name(run.state));
	/* Note the night of this run now: another night may begin during the wait for the uploads. */
	night = tonight_get(&tonight, NULL) == 0 ? &tonight : NULL;
	if (is_stopped_by_hand()) {
		report_ask(night, NULL);
		return 0;
	}
	r = config_load(config_path(0, NULL), &config, err);
	put = put_away(&run, (r < 0 ? &run.config : &config)->power.upload_wait_min, &put_away_err);
	report_ask(night, r < 0 ? &run.config : &config);
	if (put < 0)
		return error_set(err, put, "%s", put_away_err.text);
	if (r < 0 || !power || !night || !night->by_timer)
		return r;
	if (config.power.when_finished != POWER_NOTHING)
		wait_for_tracking(&config, run.id, start_us);
	return power_rest(&config, run.id, err);
}

int oneshot_finished(int argc, char **argv)
{
	struct error err = { 0 };
	char path[PATH_BYTES];
	bool power;

	(void)argc;
	(void)argv;
	/* Without the mark this is a second start, after a power cut: then the box stays on, as somebody has
	 * switched it on.
	 */
	power = access(path_of(PATH_RUN, RUN_REST_FILE, path), F_OK) == 0;
	return finished_rest(true, power, &err) < 0 ? fatal(&err) : EX_OK;
}
