/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/tracker.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/run/spool.h"
#include "core/run/tracking.h"
#include "drivers/notify/alive.h"
#include "uploadd/tracking/collect.h"
#include "uploadd/tracking/refusals.h"
#include "uploadd/tracking/send.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* A dashboard is looked at more seldom, and a pass costs the box less than a millisecond every time. */
#define PERIOD_MS       5000u
#define BACK_OFF_MS     1000u
#define BACK_OFF_MAX_MS 60000u
#define QUIET_S         120u /* longest time without a tick: one call to the server, and a slow disk */

struct tracker {
	pthread_t thread;
	/* guards all members that follow it, down to `mlflow`, and the writing of the spool's folders except
	 * sent.json, which is the thread's */
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool quit, drain, drained, tracks;
	struct collectors collectors;
	uint64_t metrics,
		waiting; /* sent by this process; runs and series in the spool, while something fails */
	uint64_t passes, behind; /* as in struct status_uploadd */
	char problem[sizeof(((struct status_uploadd *)NULL)->tracking)];
	struct mlflow *mlflow; /* the connection in use, which tracker_close() cancels */

	/* Members of the thread. */
	struct alive_worker *worker;
	struct sender sender;
	bool failing;
	uint64_t missed; /* runs, series and champions that the pass could not tell so far */
	char current[SLOTS_MAX][RUN_ID_BYTES]; /* by slot */
	struct refusals refusals;
	struct error failed; /* the first failure of a server in a pass; code 0 = none */
	struct error *err;
};

/* ---- What the sender calls ---- */

static void awake(void *context)
{
	const struct tracker *tracker = context;

	alive_lease(tracker->worker, NULL, QUIET_S);
}

static void note_refused(void *context, const char *id)
{
	struct tracker *tracker = context;

	refusals_of_run(&tracker->refusals, id, tracker->err);
}

static void note_connection(void *context, struct mlflow *mlflow)
{
	struct tracker *tracker = context;

	(void)pthread_mutex_lock(&tracker->lock);
	tracker->mlflow = mlflow;
	if (mlflow && tracker->quit)
		mlflow_cancel(mlflow);
	(void)pthread_mutex_unlock(&tracker->lock);
}

/* ---- Collecting ---- */

static void log_failed(const char *id, int r, const struct error *err)
{
	if (r < 0)
		log_warning("%s: cannot be kept for the tracking server: %s", id, err->text);
}

/* Collects the current run of this slot. */
static void collect_current(struct tracker *tracker)
{
	char *current = tracker->current[slot_now()];
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL;
	struct error err = { 0 };
	const char *id;
	int r;

	*current = '\0';
	if (run_load(&run, NULL) < 0)
		return;
	(void)snprintf(current, sizeof(tracker->current[0]), "%s", run.id);
	if (!*run.config.tracking.url || run_record(&record, NULL) < 0 ||
	    json_get_string("run.json", record, "id", &id, NULL) < 0 || strcmp(id, run.id) != 0)
		return;
	(void)pthread_mutex_lock(&tracker->lock);
	r = collect_run(&tracker->collectors, &run, record, &err);
	(void)pthread_mutex_unlock(&tracker->lock);
	log_failed(run.id, r, &err);
}

void tracker_collect(struct tracker *tracker, const struct run *run, const cJSON *record)
{
	struct error err = { 0 };
	int r;

	if (!tracker || !*run->config.tracking.url)
		return;
	(void)pthread_mutex_lock(&tracker->lock);
	r = collect_run(&tracker->collectors, run, record, &err);
	(void)pthread_mutex_unlock(&tracker->lock);
	log_failed(run->id, r, &err);
}

/* ---- A pass ---- */

/* An error that is of one run only: the server takes others. */
static bool is_of_one(int r)
{
	return r == -EINVAL || r == -ENOENT || r == -EBADMSG || r == -EEXIST;
}

static bool is_current(const struct tracker *tracker, const char *id)
{
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++)
		if (strcmp(id, tracker->current[slot]) == 0)
			return true;
	return false;
}

/* Tells whether something may still come: the run is current, or its files wait for the store; or a trial of
 * the series is in the spool. */
static bool may_grow(struct tracker *tracker, const char *id)
{
	return is_current(tracker, id) || spool_has(id) || collect_has_trials(id);
}

/* Removes what the server has, where nothing of it can come any more. */
static int remove_sent(struct tracker *tracker, const char *id)
{
	int r = 0;

	(void)pthread_mutex_lock(&tracker->lock);
	if (!may_grow(tracker, id)) {
		collect_forget(&tracker->collectors, id);
		r = tracking_remove(id, tracker->err);
	}
	(void)pthread_mutex_unlock(&tracker->lock);
	return r;
}

static int collect_if_series(struct tracker *tracker, const char *id)
{
	int r = collect_is_series(id, tracker->err);

	if (r <= 0)
		return r;
	(void)pthread_mutex_lock(&tracker->lock);
	r = collect_series(id, tracker->err);
	(void)pthread_mutex_unlock(&tracker->lock);
	return r;
}

/* Notes the failure of a server. Returns 0 where the pass goes on, because there may be other servers. */
static int note_failed(struct tracker *tracker, int r)
{
	if (r >= 0 || r == -ECANCELED)
		return r < 0 ? r : 0;
	tracker->missed++;
	if (r == -EALREADY)
		return 0;
	send_note_failed(&tracker->sender);
	if (!tracker->failed.code)
		tracker->failed = *tracker->err;
	return 0;
}

static int pass_run(void *context, const char *id)
{
	struct tracker *tracker = context;
	int r = collect_if_series(tracker, id);

	if (r == 0)
		r = send_run(&tracker->sender, id, tracker->err);
	if (r == 1)
		return remove_sent(tracker, id);
	if (!is_of_one(r))
		return note_failed(tracker, r);
	note_refused(tracker, id);
	return 0;
}

/* Champions are sent in their order: one that stays holds up the later ones of its server. */
static int pass_champion(void *context, const char *name)
{
	struct tracker *tracker = context;
	char run[RUN_ID_BYTES];
	int r = send_champion(&tracker->sender, name, run, tracker->err);

	if (r == 1)
		refusals_of_champion(&tracker->refusals, run, tracker->err);
	return note_failed(tracker, r);
}

static int pass(struct tracker *tracker, struct error *err)
{
	int r;

	tracker->err = err;
	tracker->failed.code = 0;
	tracker->missed = 0;
	refusals_begin(&tracker->refusals);
	send_begin_pass(&tracker->sender);
	for (unsigned slot = 0; slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		collect_current(tracker);
	}
	(void)slot_use(0);
	r = tracking_each(pass_run, tracker, err);
	if (r == 0)
		r = tracking_each_champion(pass_champion, tracker, err);
	if (r < 0 || !tracker->failed.code)
		return r;
	*err = tracker->failed;
	return err->code;
}

/* ---- The thread ---- */

static void say(struct tracker *tracker, int r, uint64_t wait_ms)
{
	const char *text = tracker->err->text;

	if (r < 0 && r != -ECANCELED && !tracker->failing)
		event_send(&(struct event){ .id = EVENT_TRACKING_FAILING, .run_id = tracker->current[0] },
			   "%s, trying again in %" PRIu64 " s; training goes on", text, wait_ms / 1000);
	else if (r == 0 && tracker->failing)
		event_send(&(struct event){ .id = EVENT_TRACKING_BACK, .run_id = tracker->current[0] },
			   "the tracking server takes runs again");
	tracker->failing = r < 0;
}

static int count_one(void *context, const char *id)
{
	(void)id;
	++*(uint64_t *)context;
	return 0;
}

/* Tells whether the pass that begins now is one that tracker_close() waits for. */
static bool is_draining(struct tracker *tracker)
{
	(void)pthread_mutex_lock(&tracker->lock);
	const bool drain = tracker->drain;
	(void)pthread_mutex_unlock(&tracker->lock);
	return drain;
}

/* Publishes the outcome of a pass. */
static void note_pass(struct tracker *tracker, int r, bool drains)
{
	const char *problem = r < 0                               ? tracker->err->text
			      : tracker->refusals.first.code != 0 ? tracker->refusals.first.text
								  : "";
	uint64_t waiting = 0;

	(void)!tracking_each(count_one, &waiting, NULL);
	(void)pthread_mutex_lock(&tracker->lock);
	tracker->metrics = tracker->sender.metrics;
	tracker->waiting = *problem ? waiting : 0;
	tracker->tracks = waiting > 0;
	tracker->behind = tracker->missed + (r < 0 && tracker->missed == 0);
	tracker->passes++;
	(void)snprintf(tracker->problem, sizeof(tracker->problem), "%.255s", problem);
	tracker->drained = drains;
	(void)pthread_cond_broadcast(&tracker->change);
	(void)pthread_mutex_unlock(&tracker->lock);
}

/* Waits until the next pass is due. Returns false once the thread shall end. */
static bool wait_ms(struct tracker *tracker, uint64_t ms)
{
	const uint64_t until_us = clock_us() + ms * 1000;
	struct timespec until = { .tv_sec = (time_t)(until_us / 1000000),
				  .tv_nsec = (long)(until_us % 1000000) * 1000 };
	bool goes_on;

	(void)pthread_mutex_lock(&tracker->lock);
	while (!tracker->quit && !(tracker->drain && !tracker->drained) &&
	       pthread_cond_clockwait(&tracker->change, &tracker->lock, CLOCK_MONOTONIC, &until) == 0)
		continue;
	goes_on = !tracker->quit;
	(void)pthread_mutex_unlock(&tracker->lock);
	return goes_on;
}

static void *work(void *context)
{
	struct tracker *tracker = context;
	uint64_t back_off_ms = BACK_OFF_MS, due_ms;

	do {
		const bool drains = is_draining(tracker);
		struct error err = { 0 };
		int r;

		awake(tracker);
		r = pass(tracker, &err);
		due_ms = r < 0 ? back_off_ms : PERIOD_MS;
		if (tracker->sender.retry_after_s * 1000 > due_ms)
			due_ms = tracker->sender.retry_after_s * 1000;
		say(tracker, r, due_ms);
		back_off_ms = r == 0                              ? BACK_OFF_MS
			      : 2 * back_off_ms < BACK_OFF_MAX_MS ? 2 * back_off_ms
								  : BACK_OFF_MAX_MS;
		if (r < 0) /* a person may give another credential */
			send_disconnect(&tracker->sender);
		note_pass(tracker, r, drains);
		alive_lease(tracker->worker, NULL, QUIET_S + (unsigned)(due_ms / 1000));
	} while (wait_ms(tracker, due_ms));
	refusals_done(&tracker->refusals);
	alive_lease_end(tracker->worker);
	return NULL;
}

/* ---- The main thread ---- */

int tracker_open(struct tracker **ret_tracker, struct error *err)
{
	struct tracker *tracker = calloc(1, sizeof(*tracker));

	if (tracker)
		tracker->sender = (struct sender){ .batch = calloc(1, sizeof(*tracker->sender.batch)),
						   .awake = awake,
						   .awake_context = tracker,
						   .refused = note_refused,
						   .connected = note_connection };
	if (!tracker || !tracker->sender.batch) {
		free(tracker);
		return error_set(err, -ENOMEM, "no memory for the tracking server's thread");
	}
	(void)pthread_mutex_init(&tracker->lock, NULL);
	(void)pthread_cond_init(&tracker->change, NULL);
	tracker->worker = alive_worker("the tracker");
	if (pthread_create(&tracker->thread, NULL, work, tracker) != 0) {
		free(tracker->sender.batch);
		free(tracker);
		return error_set(err, -EAGAIN, "cannot start the tracking server's thread");
	}
	*ret_tracker = tracker;
	return 0;
}

/* Waits for a pass that begins after this call. */
static void wait_for_pass(struct tracker *tracker)
{
	const uint64_t until_us = clock_us() + (uint64_t)TRACKER_DRAIN_S * 1000000;
	const struct timespec until = { .tv_sec = (time_t)(until_us / 1000000) };

	tracker->drain = true;
	(void)pthread_cond_broadcast(&tracker->change);
	while (!tracker->drained &&
	       pthread_cond_clockwait(&tracker->change, &tracker->lock, CLOCK_MONOTONIC, &until) == 0)
		continue;
}

void tracker_close(struct tracker *tracker, bool drain)
{
	if (!tracker)
		return;
	(void)pthread_mutex_lock(&tracker->lock);
	if (drain) {
		wait_for_pass(tracker);
		if (!tracker->drained || tracker->behind)
			log_warning("%s; a later start tells the tracking server the rest",
				    tracker->drained ? tracker->problem
						     : "the tracking server takes too long");
	}
	tracker->quit = true;
	if (tracker->mlflow)
		mlflow_cancel(tracker->mlflow);
	(void)pthread_cond_broadcast(&tracker->change);
	(void)pthread_mutex_unlock(&tracker->lock);
	(void)pthread_join(tracker->thread, NULL);
	send_done(&tracker->sender);
	collect_close(&tracker->collectors);
	free(tracker->sender.batch);
	free(tracker);
}

void tracker_status(struct tracker *tracker, struct status_uploadd *status)
{
	if (!tracker)
		return;
	(void)pthread_mutex_lock(&tracker->lock);
	status->tracks = tracker->tracks;
	status->tracked = tracker->metrics;
	status->track_waiting = tracker->waiting;
	status->track_passes = tracker->passes;
	status->track_behind = tracker->behind;
	(void)snprintf(status->tracking, sizeof(status->tracking), "%s", tracker->problem);
	(void)pthread_mutex_unlock(&tracker->lock);
}
