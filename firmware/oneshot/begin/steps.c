/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/steps.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/box/night.h"
#include "core/run/manifest.h"
#include "core/run/spool.h"
#include "model/build.h"
#include "oneshot/begin/branch.h"
#include "oneshot/begin/bring.h"
#include "oneshot/begin/claim.h"
#include "oneshot/begin/commits.h"
#include "oneshot/begin/configured_store.h"
#include "oneshot/begin/fit.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/start.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/unstarted.h"

#include <inttypes.h>
#include <string.h>

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

/* ---- The steps ---- */

int begin_set_aside(struct error *err)
{
	char path[PATH_BYTES];
	int r = run_set_aside(path, err);

	if (r > 0)
		log_warning("%s; the record is now in %s, going on without it", err->text, path);
	return r < 0 ? r : 0;
}

int begin_new(const struct new_run *new, struct run *ret_run, struct error *err)
{
	CLEANUP(config_done) struct config own = { 0 };
	/* The graph is built only as a check: it finds mistakes that config_load() cannot find. The run
	 * record would freeze them. */
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct config *config = new->config ? new->config : &own;
	const char *file = new->file;
	char path[PATH_BYTES];
	struct start start;
	bool adopted, commits;
	int r;

	if ((!new->config && (r = overrides_apply(new->file, new->overrides, path, &file, &own, err)) < 0) ||
	    (r = graph_build(config, true, &graph, err)) < 0 ||
	    (r = commits_find(config, &commits, err)) < 0 || (r = check_sources(config, true, err)) < 0 ||
	    (r = start_choose(config->file, &graph, new->last, &start, err)) < 0 ||
	    (r = fit_check(config, err)) < 0)
		return r;
	if (new->unstarted && (r = unstarted_give_up(new->last, err)) < 0)
		return r;
	if (!*start.path)
		start.with = (struct run_start){ 0 };
	start.with.members = new->members;
	r = run_begin(file, new->last->id, &start.with, ret_run, &adopted, err);
	if (r == 0 && commits)
		r = commits_fix(ret_run, config, err);
	return r < 0 ? r : overrides_done(new->overrides, err);
}

int begin_go_on(const char *file, bool brought, struct run *ret_run, struct error *err)
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
	return bring_checkpoint(sink, ret_run->id, &any, err);
}

/* Notes in the record when the run must stop: at the end of the night in which it was asked for, or when the
 * budget of its series is spent. */
static int note_end(const struct run *run, const struct set_up *how, struct error *err)
{
	const int64_t ends = night_end(&run->config, how->since_s);
	char note[96];

	(void)snprintf(note, sizeof(note), "{\"ends_s\": %" PRId64 ", \"budget_ends_s\": %" PRId64 "}", ends,
		       how->budget_ends_s);
	return ends == run->ends_s && how->budget_ends_s == run->budget_ends_s ? 0 : run_note(note, err);
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

int begin_set_up(struct run *run, const struct set_up *how, struct error *err)
{
	CLEANUP(store_closep) struct store *sink = NULL;
	int there, r;

	if ((r = configured_store_open(&run->config, &run->config.sink, &sink, err)) < 0 ||
	    (r = there = branch_make(run, err)) < 0 ||
	    (r = claim_run(there ? sink : NULL, run, how->adopted, err)) < 0 ||
	    (r = note_end(run, how, err)) < 0 || (r = spool_make(run->id, err)) < 0 ||
	    (r = bring_its_encoder(sink, run, how->repeats, err)) < 0 ||
	    (*how->repeats && (r = put_plan(sink, run, err)) < 0) ||
	    (there && (r = stored_record_put(sink, run->id, err)) < 0))
		return r;
	event_send(&(struct event){ .id = how->adopted ? EVENT_RUN_ADOPTED : EVENT_RUN_BEGUN,
				    .run_id = run->id },
		   "%s: %s", run->id, how->adopted ? "going on" : "begun");
	puts(run->id);
	return 0;
}
