/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "core/manifest.h"
#include "core/spool.h"
#include "model/graph.h"
#include "oneshot/oneshot.h"

#include <string.h>
#include <sysexits.h>

static int open_store(const struct config *config, const struct config_store *which, struct store **ret_store,
		      struct error *err)
{
	const struct store_options options = store_options_of(config);

	return store_open(which, &options, ret_store, err);
}

/* The frozen copy outlives a mistake, so what only the model's tables know is checked before. */
static int check_model(const struct config *config, struct error *err)
{
	struct graph graph;
	int r = graph_build(config, true, &graph, err);

	if (r == 0)
		graph_done(&graph);
	return r;
}

/* For a run without a plan, which would take whatever lies there; one that has its plan goes by its pins. */
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

/* `there`: a record of a final run is on the disk; otherwise the store may know of one. */
static int begin_new(const char *file, bool there, struct store **ret_sink, struct run *ret_run,
		     bool *ret_adopted, struct error *err)
{
	CLEANUP(store_closep) struct store *source = NULL;
	CLEANUP(config_done) struct config config = { 0 };
	char last_id[RUN_ID_BYTES] = "";
	int r;

	if ((r = config_load(file, &config, err)) < 0 || (r = check_model(&config, err)) < 0 ||
	    (r = open_store(&config, &config.sink, ret_sink, err)) < 0)
		return r;
	if (!there)
		r = bring_last_run(*ret_sink, config.run.name, ret_run, last_id, err);
	*ret_adopted = r == 0 && *ret_run->id;
	if (r < 0 || *ret_adopted || (r = open_store(&config, &config.source, &source, err)) < 0 ||
	    (r = check_whole(source, err)) < 0)
		return r;
	return run_begin(file, last_id, ret_run, ret_adopted, err);
}

static int upload_record(struct store *sink, const char *run_id, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	int r = run_json(&text, err);

	(void)snprintf(key, sizeof(key), "%s/run.json", run_id);
	return r < 0 ? r : store_put(sink, key, text, strlen(text), err);
}

/* An unfinished run is its frozen configuration's: kiln.conf may be anything by now. */
static int begin(const char *file, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(store_closep) struct store *sink = NULL, *source = NULL;
	bool adopted = true;
	int r = run_load(&run, err);

	if (r == -ENOENT || (r == 0 && run_state_is_final(run.state))) {
		bool there = r == 0;

		run_done(&run);
		run = (struct run){ 0 };
		r = begin_new(file, there, &sink, &run, &adopted, err);
	} else if (r == 0) {
		run_done(&run);
		r = run_begin(file, "", &run, &adopted, err);
		if (r == 0 && (r = open_store(&run.config, &run.config.sink, &sink, err)) == 0 &&
		    (r = spool_make(run.id, err)) == 0)
			r = bring_checkpoint(sink, run.id, err);
	}
	if (r < 0 || (r = open_store(&run.config, &run.config.source, &source, err)) < 0 ||
	    (adopted && !*run.plan_sha256 && (r = check_whole(source, err)) < 0) ||
	    (r = spool_make(run.id, err)) < 0 || (r = bring_start(sink, &run, err)) < 0 ||
	    (r = bring_encoder(source, run.id, err)) < 0 || (r = upload_record(sink, run.id, err)) < 0)
		return r;
	log_info("%s: %s", run.id, adopted ? "going on" : "begun");
	puts(run.id);
	return 0;
}

int oneshot_begin(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc != 1 && (argc != 3 || strcmp(argv[1], "--config") != 0)) {
		fputs("Usage: kiln-oneshot begin [--config FILE]\n", stderr);
		return EX_USAGE;
	}
	return begin(config_path(argc, argv), &err) < 0 ? fatal(&err) : EX_OK;
}
