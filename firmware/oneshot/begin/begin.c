/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/begin.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/box/night.h"
#include "core/box/tonight.h"
#include "core/run/manifest.h"
#include "core/run/spool.h"
#include "drivers/notify/alive.h"
#include "model/adapt.h"
#include "model/build.h"
#include "model/checkpoint.h"
#include "model/weights.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/claim.h"
#include "oneshot/begin/commits.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/fit.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/repeat.h"
#include "oneshot/begin/start.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/unstarted.h"
#include "oneshot/night/expire.h"
#include "oneshot/night/night.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

static int check_whole(struct store *source, struct error *err)
{
	struct store_object object;
	int r = store_stat(source, MANIFEST_INCOMPLETE_NAME, &object, err);

	if (r == 0)
		return error_set(err, -EBADMSG,
				 "%s/" MANIFEST_INCOMPLETE_NAME
				 ": kiln prep did not finish here; run it again",
				 store_url(source));
	return r == -ENOENT ? 0 : r;
}

/* Checks that every source can be opened and, with `whole`, that kiln prep has finished writing it. A run
 * with a plan does not need `whole`: it reads exactly the object versions that its plan pins. */
static int check_sources(const struct config *config, bool whole, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < config->sources; i++) {
		CLEANUP(store_closep) struct store *source = NULL;

		r = configured_store_open(config, &config->source[i].store, &source, err);
		if (r == 0 && whole)
			r = check_whole(source, err);
	}
	return r;
}

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

/* Sets a record aside that no program can read, because no later night could begin with it. */
static int set_aside(struct error *err)
{
	char path[PATH_BYTES];
	int r = run_set_aside(path, err);

	if (r > 0)
		log_warning("%s; the record is now in %s, going on without it", err->text, path);
	return r < 0 ? r : 0;
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
	int r = set_aside(err);

	if (r < 0)
		return r;
	r = run_load(ret_run, err);
	*ret_brought = r == -ENOENT || (r == 0 && *adopt && strcmp(ret_run->id, adopt) != 0);
	if (!*ret_brought || (r == 0 && (r = put_aside(ret_run, adopt, err)) < 0))
		return r;
	if ((r = config_load(file, &config, err)) < 0 ||
	    (r = configured_store_open(&config, &config.sink, &sink, err)) < 0)
		return r;
	return *adopt ? bring_run(&config, sink, adopt, ret_run, err)
		      : bring_last_run(&config, sink, ret_run, err);
}

/* Begins a new run. `unstarted`: the last run is unfinished, but never started. It is given up only after the
 * new run has passed every check, so that a mistake in kiln.conf does not end the old run. */
static int begin_new(const char *file, const struct run *last, bool unstarted, struct run *ret_run,
		     struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *overrides = NULL;
	/* The graph is built only as a check: it finds mistakes that config_load() cannot find. The run
	 * record would freeze them. */
	CLEANUP(graph_done) struct graph graph = { 0 };
	char path[PATH_BYTES];
	struct start start;
	bool adopted, commits;
	int r;

	if ((r = overrides_asked(&overrides, err)) < 0 ||
	    (unstarted && !overrides && (r = overrides_of_run(&overrides, err)) < 0) ||
	    (r = overrides_apply(file, overrides, path, &file, err)) < 0 ||
	    (r = config_load(file, &config, err)) < 0 || (r = graph_build(&config, true, &graph, err)) < 0 ||
	    (r = commits_find(&config, &commits, err)) < 0 || (r = check_sources(&config, true, err)) < 0 ||
	    (r = start_choose(file, &graph, last, &start, err)) < 0 || (r = fit_check(&config, err)) < 0)
		return r;
	if (unstarted && (r = unstarted_give_up(last, err)) < 0)
		return r;
	r = run_begin(file, last->id, *start.path ? &start.with : NULL, ret_run, &adopted, err);
	if (r == 0 && commits)
		r = commits_fix(ret_run, &config, err);
	return r < 0 ? r : overrides_done(overrides, err);
}

/* Goes on with an unfinished run, with the configuration that its record has frozen. Later changes of
 * kiln.conf have no effect on it. */
static int go_on(const char *file, bool brought, struct run *ret_run, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	bool adopted, any, commits = false;
	int r = run_begin(file, "", NULL, ret_run, &adopted, err);

	/* An earlier kiln-oneshot begin may have been killed before it noted the commits. */
	if (r == 0 && !*ret_run->plan_sha256)
		r = commits_find(&ret_run->config, &commits, err);
	if (r == 0 && commits)
		r = commits_fix(ret_run, &ret_run->config, err);

	/* An earlier kiln-oneshot begin may have been killed after it made this record and before it removed
	 * next.json: remove it now. */
	if (r < 0 || (r = overrides_done(NULL, err)) < 0 ||
	    (r = check_sources(&ret_run->config, !*ret_run->plan_sha256, err)) < 0 || brought ||
	    (r = configured_store_open(&ret_run->config, &ret_run->config.sink, &sink, err)) < 0 ||
	    (r = spool_make(ret_run->id, err)) < 0)
		return r;
	if (unstarted_differs(file))
		log_info("%s has changed since %s was begun; the change counts for the next run", file,
			 ret_run->id);
	return bring_checkpoint(sink, ret_run->id, &any, err);
}

/* Notes in the record when the run must stop: at the end of the night in which it was asked for. */
static int note_end(const struct run *run, int64_t since, struct error *err)
{
	int64_t ends = night_end(&run->config, since);
	char note[64];

	(void)snprintf(note, sizeof(note), "{\"ends_s\": %" PRId64 "}", ends);
	return ends == run->ends_s ? 0 : run_note(note, err);
}

/* Brings the encoder from beside the shards, or from the model of the run `repeats`, whose encoder has made
 * the same shards: the one beside the shards may be newer. */
static int bring_its_encoder(struct store *sink, const struct run *run, const char *repeats,
			     struct error *err)
{
	CLEANUP(store_closep) struct store *source = NULL;
	char folder[RUN_ID_BYTES + 8];
	int r;

	if (*repeats) {
		(void)snprintf(folder, sizeof(folder), "%s/model/", repeats);
		return bring_encoder(sink, folder, run->id, err);
	}
	r = configured_store_open(&run->config, &run->config.source[0].store, &source, err);
	return r < 0 ? r : bring_encoder(source, "", run->id, err);
}

/* Puts the plan of a run that repeats another into its own folder, as fetchd puts a plan that it makes. */
static int put_plan(struct store *sink, const struct run *run, struct error *err)
{
	char key[STORE_KEY_MAX], path[PATH_BYTES];

	(void)snprintf(key, sizeof(key), "%s/plan", run->id);
	return store_put_file(sink, key, path_of(PATH_RUN, "plan", path), NULL, NULL, err);
}

/* Prepares what a run needs in addition to its record: the claim of its id, the end of its night, its spool,
 * the encoder, and a copy of the record in the store. `repeats`: the run that it repeats; "" = none. */
static int set_up(struct run *run, int64_t since, bool adopted, const char *repeats, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int r;

	if ((r = configured_store_open(&run->config, &run->config.sink, &sink, err)) < 0 ||
	    (r = claim_run(sink, run, adopted, err)) < 0 || (r = note_end(run, since, err)) < 0 ||
	    (r = spool_make(run->id, err)) < 0 || (r = bring_its_encoder(sink, run, repeats, err)) < 0 ||
	    (*repeats && (r = put_plan(sink, run, err)) < 0) ||
	    (r = stored_record_put(sink, run->id, err)) < 0)
		return r;
	event_send(&(struct event){ .id = adopted ? EVENT_RUN_ADOPTED : EVENT_RUN_BEGUN, .run_id = run->id },
		   "%s: %s", run->id, adopted ? "going on" : "begun");
	puts(run->id);
	return 0;
}

static int begin(const char *file, int64_t since, struct error *err)
{
	CLEANUP(run_done) struct run last = { 0 }, run = { 0 };
	char adopt[RUN_ID_BYTES];
	bool unfinished, adopted, brought;
	int r;

	fit_forget();
	if ((r = overrides_adopt(adopt, err)) < 0 || (r = find_last(file, adopt, &last, &brought, err)) < 0)
		return r;
	unfinished = *last.id && !run_state_is_final(last.state);
	adopted = unfinished && (*adopt || !unstarted_is_superseded(file, &last));
	r = adopted ? go_on(file, brought, &run, err) : begin_new(file, &last, unfinished, &run, err);
	return r < 0 ? r : set_up(&run, since, adopted, "", err);
}

/* Repeats the run of a record. Tries only once: a person started the command and sees the error. */
static int begin_again(const struct repeat *repeat, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	char repeats[RUN_ID_BYTES];
	struct error over_err = { 0 };
	int r = repeat_begin(repeat, &run, repeats, err);

	if (r < 0 || (r = set_up(&run, time(NULL), false, repeats, err)) == 0)
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

	(void)path_of(PATH_RUNS, RUN_UNBEGUN_FILE, path);
	if (r == 0)
		(void)unlink(path);
	else if (path_make(path_of(PATH_RUNS, NULL, folder), NULL) < 0 ||
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

/* Tries to begin until it succeeds, fails for good, or the night is over (returns 1). All attempts are made
 * in this process. If the process ended after each failure, systemd's start job would fail, and the services
 * that wait for kiln-begin would start without a run. */
static int begin_with_retries(const char *file, struct error *err)
{
	bool again = alive_back_off_oneshot("begin", 0, "killed, or crashed");
	int64_t since;
	int r;

	for (uint32_t failures = 1;; failures++) {
		if ((r = note_asked(&since, err)) == 0) {
			if (expire_is_due(file, since))
				return (r = expire_asked(err)) < 0 ? r : 1;
			r = begin(file, since, err);
		}
		note_failure(r, err);
		if (r == 0 || !again || error_exit_code(err) != EX_UNAVAILABLE) {
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
	struct error err = { 0 };
	int r;

	if (repeat.adopt && !repeat.record) {
		fputs("kiln-oneshot begin: found --adopt without --from, expected both\n", stderr);
		return EX_USAGE;
	}
	if (repeat.record)
		return begin_again(&repeat, &err) < 0 ? fatal(&err) : EX_OK;
	r = begin_with_retries(repeat.config ? repeat.config : config_path(0, NULL), &err);
	return r < 0 ? fatal(&err) : r > 0 ? EXIT_NIGHT_OVER : EX_OK;
}
