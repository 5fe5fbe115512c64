/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"
#include "core/log.h"
#include "core/paths.h"
#include "core/run.h"
#include "core/spool.h"
#include "drivers/store/store.h"
#include "oneshot/oneshot.h"

#include <inttypes.h>
#include <string.h>

#define RUN_JSON_MAX (4u << 20)
#define LATEST_MAX   65536u
#define LATEST_NAME  "checkpoints/latest.json"

/* ---- The newest checkpoint of a run in the store
 * ------------------------------------------------------------------------ */

/* The key that latest.json names, relative to the run. -ENOENT when the run has none yet. */
static int latest_name(struct store *sink, const char *run_id, char name[static SPOOL_NAME_BYTES],
		       struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *latest = NULL;
	char key[STORE_KEY_MAX];
	const char *found;
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s/" LATEST_NAME, run_id);
	if ((r = store_get_all(sink, key, LATEST_MAX, &text, &bytes, err)) < 0 ||
	    (r = json_parse(key, text, bytes, &latest, err)) < 0 ||
	    (r = json_get_string(key, latest, "key", &found, err)) < 0)
		return r;
	if (spool_checkpoint_step(found) < 0)
		return error_set(err, -EBADMSG,
				 "%s: found key \"%.200s\", expected checkpoints/ckpt-N.safetensors", key,
				 found);
	(void)snprintf(name, SPOOL_NAME_BYTES, "%s", found);
	return 0;
}

static int download(struct store *sink, const char *run_id, const char *name, const char *path,
		    struct error *err)
{
	char key[STORE_KEY_MAX];

	(void)snprintf(key, sizeof(key), "%s/%s", run_id, name);
	return store_get_file(sink, key, path, err);
}

/* ---- A new disk: this node's newest unfinished run
 * --------------------------------------------------------------------------- */

struct search {
	struct store *sink;
	const char *name; /* run.name */
	char id[RUN_ID_BYTES];
	char *text; /* its run.json */
	uint64_t bytes;
};

/* "<run name>-YYYYMMDD-HHMMSS/run.json" */
static bool is_record_of(const char *key, const char *name)
{
	size_t length = strlen(name);

	return strncmp(key, name, length) == 0 && key[length] == '-' &&
	       strspn(key + length + 1, "0123456789-") == strlen("YYYYMMDD-HHMMSS") &&
	       strcmp(key + length + 1 + strlen("YYYYMMDD-HHMMSS"), "/run.json") == 0;
}

static int note_record(void *context, const struct store_object *object)
{
	struct search *search = context;

	/* Ids sort by time, so the last one listed is the newest. */
	if (is_record_of(object->key, search->name))
		(void)snprintf(search->id, sizeof(search->id), "%.*s",
			       (int)(strlen(object->key) - strlen("/run.json")), object->key);
	return 0;
}

static int is_unfinished(struct search *search, bool *ret_unfinished, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char key[STORE_KEY_MAX];
	const char *state;
	int r;

	(void)snprintf(key, sizeof(key), "%s/run.json", search->id);
	if ((r = store_get_all(search->sink, key, RUN_JSON_MAX, &search->text, &search->bytes, err)) < 0 ||
	    (r = json_parse(key, search->text, search->bytes, &record, err)) < 0 ||
	    (r = json_get_string(key, record, "state", &state, err)) < 0)
		return r;
	*ret_unfinished = strcmp(state, run_state_name(RUN_FINISHED)) != 0 &&
			  strcmp(state, run_state_name(RUN_FAILED)) != 0;
	return 0;
}

/* Record, plan and newest checkpoint back onto this disk. */
static int bring_back(struct search *search, struct run *ret_run, struct error *err)
{
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];
	int r;

	if ((r = run_restore(search->text, search->bytes, ret_run, err)) < 0 ||
	    (r = spool_make(ret_run->id, err)) < 0)
		return r;
	if (*ret_run->plan_sha256 &&
	    (r = download(search->sink, ret_run->id, "plan", path_of(PATH_RUN, "plan", path), err)) < 0)
		return r;
	r = latest_name(search->sink, ret_run->id, name, err);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = download(search->sink, ret_run->id, name, spool_path(ret_run->id, name, path), err);
	if (r == 0)
		log_notice("%s: no record on this disk; going on from %s in the store", ret_run->id, name);
	return r;
}

/* *ret_found false: there is nothing unfinished of this name. */
static int find_unfinished(struct store *sink, const char *name, struct run *ret_run, bool *ret_found,
			   struct error *err)
{
	struct search search = { .sink = sink, .name = name };
	bool unfinished = false;
	char glob[128];
	int r;

	*ret_found = false;
	(void)snprintf(glob, sizeof(glob), "%s-*/run.json", name);
	r = store_list(sink, glob, note_record, &search, err);
	if (r == 0 && *search.id)
		r = is_unfinished(&search, &unfinished, err);
	if (r == 0 && unfinished) {
		r = bring_back(&search, ret_run, err);
		*ret_found = r == 0;
	}
	free(search.text);
	return r;
}

/* ---- begin
 * --------------------------------------------------------------------------------------------------------------------
 */

/* run.start_from = latest: the last run's newest checkpoint, where traind looks for it. */
static int fetch_start(struct store *sink, const char *previous_id, struct error *err)
{
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];
	int r = latest_name(sink, previous_id, name, err);

	if (r == -ENOENT) {
		log_warning("%s has no checkpoint in the store; starting from scratch", previous_id);
		return 0;
	}
	return r < 0 ? r : download(sink, previous_id, name, path_of(PATH_RUN, RUN_START_FILE, path), err);
}

/* What turned texts into vectors goes with the model, so that it alone is enough to predict: dataset.json and
 * the encoder that it names, where there are any beside the shards. From the spool's model folder uploadd
 * brings them to the sink. */
static int fetch_encoder(const struct run *run, struct error *err)
{
	static const char *const names[] = { "encoder.bin", "dataset.json" };
	CLEANUP(store_closep) struct store *source = NULL;
	struct store_options options = { 0 };
	int r = store_open(&run->config.source, &options, &source, err);

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		char name[SPOOL_NAME_BYTES], path[PATH_BYTES];

		(void)snprintf(name, sizeof(name), "model/%s", names[i]);
		if (access(spool_path(run->id, name, path), F_OK) < 0)
			r = store_get_file(source, names[i], path, err);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int upload_record(struct store *sink, const char *run_id, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	int r = run_json(&text, err);

	(void)snprintf(key, sizeof(key), "%s/run.json", run_id);
	return r < 0 ? r : store_put(sink, key, text, strlen(text), err);
}

static int begin(const char *config_file, struct store *sink, const char *name, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	char previous_id[RUN_ID_BYTES] = "", path[PATH_BYTES];
	bool adopted = false;
	int r = 0;

	if (access(path_of(PATH_RUN, "run.json", path), F_OK) < 0)
		r = find_unfinished(sink, name, &run, &adopted, err);
	if (r == 0 && !*run.id)
		r = run_begin(config_file, &run, previous_id, &adopted, err);
	if (r == 0)
		r = spool_make(run.id, err);
	if (r == 0 && !adopted && run.config.run.start_from == START_LATEST && *previous_id)
		r = fetch_start(sink, previous_id, err);
	if (r == 0)
		r = fetch_encoder(&run, err);
	if (r == 0)
		r = upload_record(sink, run.id, err);
	if (r < 0)
		return r;
	log_info("%s: %s", run.id, adopted ? "going on" : "begun");
	puts(run.id);
	return 0;
}

int oneshot_begin(int argc, char **argv, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(store_closep) struct store *sink = NULL;
	struct store_options options = { 0 };
	const char *file = config_path(argc, argv);
	int r = config_load(file, &config, err);

	if (r == 0)
		r = store_open(&config.sink, &options, &sink, err);
	return r < 0 ? r : begin(file, sink, config.run.name, err);
}
