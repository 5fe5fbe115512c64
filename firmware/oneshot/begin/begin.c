/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/begin.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/base/slot.h"
#include "core/box/tonight.h"
#include "core/series/series.h"
#include "drivers/notify/alive.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/fit.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/repeat.h"
#include "oneshot/begin/steps.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/trial.h"
#include "oneshot/begin/unstarted.h"
#include "oneshot/begin/wait.h"
#include "oneshot/night/expire.h"
#include "oneshot/night/night.h"
#include "oneshot/series/after.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

/* ---- Which run ---- */

/* Moves this disk's record, which must be final, into the archive, to make way for the record of an adopted
 * run. */
static int put_aside(struct run *run, const char *adopt, struct error *err)
{
	if (!run_state_is_final(run->state))
		return error_set(err, -EBUSY,
				 "%s is %s, so %s is not adopted: let it end, or kiln stop and kiln abandon",
				 run->id, run_state_name(run->state), adopt);
	run_done(run);
	*run = (struct run){ 0 };
	return run_archive(err);
}

/* Finds the last run: the record on this disk or, without one, the newest run in the store. An unfinished run
 * that is only in the store is brought to this disk, with all that it needs; *ret_brought is true then.
 * `adopt` is the id of a run to bring even where it belongs to another machine; "" = none. ret_run->id stays
 * empty where there is no run at all. */
static int find_last(const char *file, const char *adopt, struct run *ret_run, bool *ret_brought,
		     struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	CLEANUP(config_done) struct config config = { 0 };
	int r = run_load(ret_run, err);

	*ret_brought = r == -ENOENT || (r == 0 && *adopt && strcmp(ret_run->id, adopt) != 0);
	if (!*ret_brought || (r == 0 && (r = put_aside(ret_run, adopt, err)) < 0))
		return r;
	if ((r = config_load(file, &config, err)) < 0 ||
	    (r = configured_store_open(&config, &config.sink, &sink, err)) < 0)
		return r;
	return *adopt ? bring_run(&config, sink, adopt, ret_run, err)
		      : bring_last_run(&config, sink, ret_run, err);
}

/* Begins a new run with the values that run.start asked for. `unstarted`: the last run is unfinished, but
 * never started. */
static int begin_asked(const char *file, const struct run *last, bool unstarted, struct run *ret_run,
		       struct error *err)
{
	CLEANUP(json_free) cJSON *overrides = NULL;
	struct new_run new = { .file = file, .last = last, .unstarted = unstarted };
	int r;

	if ((r = overrides_asked(&overrides, err)) < 0 ||
	    (unstarted && !overrides && (r = overrides_of_run(&overrides, err)) < 0))
		return r;
	new.overrides = overrides;
	return begin_new(&new, ret_run, err);
}

/* Goes on with the last run. */
static int go_on(const char *file, bool brought, struct run *ret_run, struct error *err)
{
	int r = begin_go_on(file, brought, ret_run, err);

	if (r == 0 && !brought && unstarted_differs(file))
		log_info("%s has changed since %s was begun; the change counts for the next run", file,
			 ret_run->id);
	return r;
}

static int exit_of(int begun)
{
	switch (begun) {
	case SERIES_BEGUN_OVER:
		return SERIES_EXIT_OVER;
	case SERIES_BEGUN_WAIT:
		return SERIES_EXIT_WAIT;
	case SERIES_BEGUN_REST:
		return SERIES_EXIT_REST;
	default:
		return 0;
	}
}

/* Goes on with a series in this slot, and begins nothing else. Returns 0, or an enum series_exit. */
static int begin_beside(const char *file, const char *series, struct error *err)
{
	int r;

	fit_forget();
	if ((r = begin_set_aside(err)) < 0 || (r = series_go_on(file, series, err)) < 0)
		return r;
	return exit_of(r);
}

/* Returns 0, or an enum series_exit. */
static int begin(const char *file, int64_t since, unsigned slots_max, struct error *err)
{
	CLEANUP(run_done) struct run last = { 0 }, run = { 0 };
	struct set_up how = { .since_s = since, .repeats = "" };
	char adopt[RUN_ID_BYTES];
	bool unfinished, brought;
	int r;

	fit_forget();
	if ((r = begin_set_aside(err)) < 0 || (r = overrides_adopt(adopt, err)) < 0)
		return r;
	if (!*adopt && (r = series_begin(file, since, slots_max, err)) != SERIES_BEGUN_NONE)
		return r < 0 ? r : exit_of(r);
	if ((r = find_last(file, adopt, &last, &brought, err)) < 0)
		return r;
	unfinished = *last.id && !run_state_is_final(last.state);
	how.adopted = unfinished && (*adopt || !unstarted_is_superseded(file, &last));
	r = how.adopted ? go_on(file, brought, &run, err) : begin_asked(file, &last, unfinished, &run, err);
	if (r == 0 && run.rest_after_epoch)
		r = series_let_go(&run, err);
	return r < 0 ? r : begin_set_up(&run, &how, err);
}

/* Repeats the run of a record. Tries only once: a person started the command and sees the error. */
static int begin_again(const struct repeat *repeat, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	char repeats[RUN_ID_BYTES];
	struct error over_err = { 0 };
	int r = repeat_begin(repeat, &run, repeats, err);

	if (r < 0 ||
	    (r = begin_set_up(&run, &(struct set_up){ .since_s = time(NULL), .repeats = repeats }, err)) == 0)
		return r;
	if (run_give_back(err->text, &over_err) < 0)
		log_warning("%s", over_err.text);
	return r;
}

/* Writes a note that says why the run did not begin; kiln status shows it. Removes the note after a success.
 */
static void note_failure(int r, const struct error *err)
{
	char folder[PATH_BYTES], path[PATH_BYTES];

	(void)path_of(PATH_SLOT, RUN_UNBEGUN_FILE, path);
	if (r >= 0)
		(void)unlink(path);
	else if (path_make(path_of(PATH_SLOT, NULL, folder), NULL) < 0 ||
		 file_write_durable(path, err->text, strlen(err->text), NULL) < 0)
		log_warning("%s: cannot be written; status will not tell why the run did not begin", path);
}

/* Notes when this run was first asked for (*ret_since). The note survives a crash and a power cut, so that
 * later attempts know when the night of the run ends. */
static int note_asked(int64_t *ret_since, struct error *err)
{
	struct tonight tonight;
	int r;

	if (run_asked_get(ret_since, NULL) == 0)
		return 0;
	*ret_since = time(NULL);
	if (tonight_get(&tonight, NULL) < 0 && (r = tonight_begin(false, err)) < 0)
		return r;
	return run_asked_set(*ret_since, err);
}

/* Returns when the night was asked for. That of a slot which goes on with a series is the night of the
 * series. */
static int since_of(const char *series, int64_t *ret_since, struct error *err)
{
	if (!series)
		return note_asked(ret_since, err);
	*ret_since = after_since();
	return 0;
}

struct how {
	const char *file;
	const char *series; /* go on with this one alone; "" = with the unfinished one; NULL = what is due */
	unsigned slots_max;
	bool waits; /* systemd starts the other slots, and a slot without work waits */
};

/* One attempt. Returns 0, or the exit code where nothing has begun. */
static int attempt(const struct how *how, struct error *err)
{
	int64_t since;
	int r = since_of(how->series, &since, err);

	if (r < 0)
		return r;
	if (expire_is_due(how->file, since))
		return (r = expire_asked(!how->series, err)) < 0 || (r = after_night(err)) < 0 ? r
		       : how->series ? SERIES_EXIT_REST
				     : EXIT_NIGHT_OVER;
	r = how->series ? begin_beside(how->file, how->series, err)
			: begin(how->file, since, how->slots_max, err);
	return how->waits && slot_now() == 0 && (r == 0 || r == SERIES_EXIT_WAIT) && series_ask_slots(err) < 0
		       ? err->code
		       : r;
}

/* Tries to begin until it succeeds, fails for good, or the night is over. Returns the exit code. All attempts
 * are made in this process. If the process ended after each failure, systemd's start job would fail, and the
 * services that wait for kiln-begin would start without a run. */
static int begin_with_retries(struct how how, struct error *err)
{
	bool again = alive_back_off_oneshot("begin", 0, "killed, or crashed");

	for (uint32_t failures = 1;; failures++) {
		const struct wait_state before = wait_state_now();
		const int r = attempt(&how, err);

		note_failure(r, err);
		if (how.waits && r == SERIES_EXIT_WAIT) {
			wait_for_change(&before);
			how.series = "";
			failures = 0;
			continue;
		}
		if (r >= 0 || !again || error_exit_code(err) != EX_UNAVAILABLE) {
			run_asked_over(false);
			return r;
		}
		again = alive_back_off_oneshot("begin", failures, err->text);
	}
}

int oneshot_begin(int argc, char **argv)
{
	const struct repeat repeat = { .record = program_option(argc, argv, "--from"),
				       .config = program_option(argc, argv, "--config"),
				       .adopt = program_option(argc, argv, "--adopt") };
	struct how how = { .file = repeat.config ? repeat.config : config_path(0, NULL),
			   .series = program_option(argc, argv, "--series"),
			   .waits = program_option(argc, argv, "--wait") };
	const char *slots = program_option(argc, argv, "--slots");
	struct error err = { 0 };
	uint64_t slots_max = 1;
	int r;

	if (slots && (!program_number(slots, SLOTS_MAX, &slots_max) || slots_max == 0)) {
		fprintf(stderr, "kiln-oneshot begin: --slots %s, expected 1 .. %u\n", slots, SLOTS_MAX);
		return EX_USAGE;
	}
	how.slots_max = (unsigned)slots_max;
	if (!how.series && slot_now() > 0)
		how.series = "";
	if (repeat.adopt && !repeat.record) {
		fputs("kiln-oneshot begin: found --adopt without --from, expected both\n", stderr);
		return EX_USAGE;
	}
	if (repeat.record)
		return begin_again(&repeat, &err) < 0 ? fatal(&err) : EX_OK;
	r = begin_with_retries(how, &err);
	return r < 0 ? fatal(&err) : r;
}
