/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timer and the boot: whether a run starts or goes on now. Nights are in local time, so both wait for the
 * clock first, for a bounded time; then they use the time that the clock shows.
 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/box/clock_wait.h"
#include "core/box/tonight.h"
#include "drivers/manager/manager.h"
#include "oneshot/boot/last_good.h"
#include "oneshot/boot/wait_option.h"
#include "oneshot/night/due.h"
#include "oneshot/night/expire.h"
#include "oneshot/night/night.h"
#include "oneshot/promote/ask.h"
#include "oneshot/report/ask.h"
#include "oneshot/series/after.h"

#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>

static void wait_for_clock(const char *verb, unsigned wait_s)
{
	unsigned waited = 0;

	while (clock_synced() <= 0 && waited < wait_s) {
		if (waited == 0) {
			log_info("waiting at most %u s for the clock to be set", wait_s);
			clock_wait_begin(verb, wait_s);
		}
		(void)sleep(1);
		waited++;
	}
	clock_wait_end();
	if (wait_s && waited == wait_s)
		event_send(&(struct event){ .id = EVENT_CLOCK_UNSET, .seconds = wait_s },
			   "the clock is not set after %u s, going on by what it says", wait_s);
}

static int start_run(struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = manager_open(&manager, err);

	return r < 0 ? r : manager_start_run(manager, err);
}

/* ---- The timer ---- */

static int64_t uptime_s(void)
{
	struct timespec up = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	return up.tv_sec;
}

/* Tells whether a run or a series is unfinished: it goes on with its frozen configuration. A record that
 * cannot be read counts as none: kiln-oneshot begin reports it. */
static bool is_unfinished(void)
{
	CLEANUP(json_free) cJSON *series = NULL;
	enum run_state state;

	return (run_state_get(&state, NULL) == 0 && !run_state_is_final(state)) ||
	       series_load_unfinished(&series, NULL) == 0;
}

/* Loads the configuration that says when the nights are. An unfinished run must go on in the next night even
 * where kiln.conf has a mistake: then uses the last good configuration, as the timer does, or the frozen
 * configuration of the run. */
static int load_nights(const char *file, struct config *ret_config, struct error *err)
{
	int r = config_load(file, ret_config, err);

	if (r == 0 || !is_unfinished())
		return r;
	log_warning("%s", err->text);
	return last_good_or_frozen(file, ret_config, err);
}

/* Returns when the file was last changed (Unix time); -1 = not known. */
static int64_t written_s(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 ? st.st_mtim.tv_sec : -1;
}

/* Begins the night of the timer. *ret_begun is false where a run has been started already: then its night
 * goes on. */
static int begin_tonight(bool *ret_begun, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool started = false;
	int r = manager_open(&manager, err);

	if (r < 0 || (r = manager_run_is_started(manager, &started, err)) < 0)
		return r;
	*ret_begun = !started;
	return started ? 0 : tonight_begin(true, err);
}

/* Begins a night and ends it at once, so that a night without a run has a report, too. */
static void report_unstarted(const char *why)
{
	struct tonight tonight;
	struct error err = { 0 };
	bool begun = false;

	if (begin_tonight(&begun, &err) < 0 ||
	    (begun && (tonight_say(why, &err) < 0 || tonight_get(&tonight, &err) < 0)))
		log_warning("%s; going on without the report of this night", err.text);
	else if (begun)
		report_ask(&tonight, NULL);
}

/* Says why no run is started: by an event and a report, or only in the log where no start was missed. */
static void say_not_due(const char *file, const struct config *config, enum due due, int64_t late_s)
{
	char why[256];

	if (due == DUE_BEFORE) {
		log_info("no run: run.at = \"%s\" was past when %s was written", config->run.at, file);
		return;
	}
	if (due == DUE_OVER) {
		(void)snprintf(why, sizeof(why), "this is after run.ends_at = \"%s\"", config->run.ends_at);
		event_send(&(struct event){ .id = EVENT_NIGHT_OVER }, "no run: %s", why);
	} else {
		(void)snprintf(why, sizeof(why),
			       "run.at = \"%s\" was %jd minutes ago, and run.catch_up is off", config->run.at,
			       (intmax_t)late_s / 60);
		event_send(&(struct event){ .id = EVENT_NIGHT_MISSED, .seconds = (uint64_t)late_s },
			   "no run: %s", why);
	}
	report_unstarted(why);
}

/* Removes requests that are left from the night before: overrides for a run that was never begun, the request
 * for a run, the request to stop. */
static int forget_requests(struct error *err)
{
	char path[PATH_BYTES];

	if (unlink(path_of(PATH_RUNS, "next.json", path)) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	run_asked_over(false);
	run_want_forget_stops();
	return 0;
}

static int nightly(unsigned wait_s, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	const char *file = config_path(0, NULL);
	int64_t late_s;
	enum due due;
	bool begun;
	int r = load_nights(file, &config, err);

	if (r < 0) {
		report_unstarted(err->text);
		return r;
	}
	if (strcmp(config.run.days, "none") == 0) {
		log_info("run.days = \"none\": no run starts by itself");
		return 0;
	}
	wait_for_clock("nightly", wait_s);
	due = due_decide(&config, &(struct due_facts){ time(NULL), uptime_s(), written_s(file) }, &late_s);
	if (due != DUE_NOW) {
		say_not_due(file, &config, due, late_s);
		return 0;
	}
	if ((r = begin_tonight(&begun, err)) < 0)
		return r;
	if (!begun && series_ask_slots_again(err) < 0)
		log_warning("%s; a slot whose service failed stays at rest", err->text);
	/* An earlier night may have no report yet. */
	report_ask_due(false);
	return (r = forget_requests(err)) < 0 ? r : start_run(err);
}

int oneshot_nightly(int argc, char **argv)
{
	struct error err = { 0 };
	unsigned wait_s = 0;

	if (!wait_option(argc, argv, "--clock-wait-s", &wait_s))
		return EX_USAGE;
	return nightly(wait_s, &err) < 0 ? fatal(&err) : EX_OK;
}

/* ---- Boot ---- */

/* The current record is final, or parked. Where it is not in the archive yet, because the power failed, or
 * where it belongs to a series that goes on, or was not judged (promote.against), starts
 * kiln-finished.service again. Returns 1 where this service or a new run was started: that will ask for the
 * report of the night. */
static int finish_again(struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	bool started;
	int r;

	if (run_is_archived() && !after_goes_on() && !promote_is_due())
		return 0;
	if ((r = manager_open(&manager, err)) < 0 ||
	    (r = manager_run_is_started(manager, &started, err)) < 0 || started)
		return r < 0 ? r : 1;
	r = manager_start(manager, "kiln-finished.service", err);
	return r < 0 ? r : 1;
}

/* Decides after a boot what to do with the run of the current record. Returns 1 where a run goes on or
 * kiln-finished is working, else 0. */
static int go_on(struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	CLEANUP(run_done) struct run run = { 0 };
	bool asked, interrupted, started;
	int64_t since;
	int r = run_load(&run, err);

	asked = run_asked_get(&since, NULL) == 0;
	interrupted = r == 0 && expire_is_interrupted(run.state);
	if (!asked && !interrupted)
		return r == -ENOENT && !after_goes_on() ? 0
		       : (r < 0 && r != -ENOENT) || (r == 0 && !run_state_is_final(run.state))
			       ? r
			       : finish_again(err);
	/* The run was to stop, but the power failed before the trainer had stopped. */
	if (interrupted && run_want_is_stop()) {
		run_asked_over(true);
		return (r = after_halt(err)) < 0 ? r : run_state_set(RUN_STOPPED, err);
	}
	if ((r = manager_open(&manager, err)) < 0 ||
	    (r = manager_run_is_started(manager, &started, err)) < 0 || started)
		return r < 0 ? r : 1;
	if (asked && expire_is_due(config_path(0, NULL), since))
		return (r = after_night(err)) < 0 ? r : expire_asked(true, err);
	if (!asked && run.ends_s && time(NULL) >= run.ends_s)
		return (r = after_night(err)) < 0 ? r : expire_run(&run, err);
	event_send(&(struct event){ .id = EVENT_RUN_REBOOTED, .run_id = run.id },
		   "%s: going on after a reboot", interrupted ? run.id : "a run that was asked for");
	r = manager_start_run(manager, err);
	return r < 0 ? r : 1;
}

/* Waits for the clock where the decision depends on it, then decides. go_on() reads the record only after the
 * wait, because a run may be started or stopped meanwhile. */
static int resume(unsigned wait_s, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	int64_t since;
	int r;

	if (run_asked_get(&since, NULL) == 0 ||
	    (run_load(&run, NULL) == 0 && expire_is_interrupted(run.state) && run.ends_s))
		wait_for_clock("resume", wait_s);
	r = go_on(err);
	if (r == 0)
		report_ask_due(true);
	return r;
}

int oneshot_resume(int argc, char **argv)
{
	struct error err = { 0 };
	unsigned wait_s = 0;

	if (!wait_option(argc, argv, "--clock-wait-s", &wait_s))
		return EX_USAGE;
	return resume(wait_s, &err) < 0 ? fatal(&err) : EX_OK;
}

/* ---- Conditions of units ---- */

int oneshot_unfinished(int argc, char **argv)
{
	struct error err = { 0 };
	char path[PATH_BYTES];
	enum run_state state;
	int r = run_state_get(&state, &err);

	(void)argc;
	(void)argv;
	if (r < 0 && r != -ENOENT)
		return fatal(&err);
	/* The last kiln-begin failed: no service of the run may start until one succeeds. */
	if (file_exists(path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path), NULL) != 0)
		return 1;
	return r == 0 && expire_is_interrupted(state) ? 0 : 1;
}

int oneshot_new(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return is_unfinished() ? 1 : 0;
}
