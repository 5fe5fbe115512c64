/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"
#include "core/log.h"
#include "core/paths.h"
#include "core/spool.h"
#include "model/checkpoint.h"
#include "oneshot/oneshot.h"

#include <inttypes.h>
#include <string.h>

#define RUN_JSON_MAX  (4u << 20)
#define STAMP_PATTERN "YYYYMMDD-HHMMSS"

static int download(struct store *sink, const char *run_id, const char *name, const char *path,
		    struct error *err)
{
	char key[STORE_KEY_MAX];

	(void)snprintf(key, sizeof(key), "%s/%s", run_id, name);
	return store_get_file(sink, key, path, err);
}

/* ---- The place to go on from ---- */

static void warn_damaged(const struct error *err)
{
	log_warning("%s, going back to the one before", err->text);
}

int bring_checkpoint(struct store *sink, const char *run_id, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES], temporary[PATH_BYTES];
	int r = checkpoint_open_newest(run_id, warn_damaged, path, &file, err);

	if (r != -ENOENT)
		return r;
	r = stored_fetch(sink, run_id, spool_path(run_id, "checkpoints/begin.tmp", temporary), name, err);
	if (r == 0 && *name)
		r = file_rename_durable(temporary, spool_path(run_id, name, path), err);
	if (r < 0)
		return r;
	if (*name)
		log_notice("%s: no good checkpoint on this disk; going on from %s in the store", run_id,
			   name);
	else
		log_notice("%s: no checkpoint on this disk or in the store; starting from its beginning",
			   run_id);
	return 0;
}

/* ---- A new disk ---- */

struct search {
	const char *name; /* run.name */
	char *id;         /* RUN_ID_BYTES */
};

/* "<run name>-YYYYMMDD-HHMMSS/run.json" */
static bool is_record_of(const char *key, const char *name)
{
	size_t length = strlen(name);

	return strncmp(key, name, length) == 0 && key[length] == '-' &&
	       strspn(key + length + 1, "0123456789-") == strlen(STAMP_PATTERN) &&
	       strcmp(key + length + 1 + strlen(STAMP_PATTERN), "/run.json") == 0;
}

/* Keys come in order and ids sort by time, so the last one is the newest. */
static int note_record(void *context, const struct store_object *object)
{
	struct search *search = context;

	if (is_record_of(object->key, search->name))
		(void)snprintf(search->id, RUN_ID_BYTES, "%.*s",
			       (int)(strlen(object->key) - strlen("/run.json")), object->key);
	return 0;
}

static bool is_final(const char *state)
{
	return strcmp(state, run_state_name(RUN_FINISHED)) == 0 ||
	       strcmp(state, run_state_name(RUN_FAILED)) == 0;
}

/* The record comes last: it says that the rest is here. */
static int bring_back(struct store *sink, const char *run_id, const char *text, uint64_t bytes,
		      const char *plan_sha256, struct run *ret_run, struct error *err)
{
	char folder[PATH_BYTES], plan[PATH_BYTES];
	int r;

	if ((r = path_make(path_of(PATH_RUNS, NULL, folder), err)) < 0 || (r = spool_make(run_id, err)) < 0 ||
	    (r = bring_checkpoint(sink, run_id, err)) < 0)
		return r;
	(void)path_of(PATH_RUNS, "plan", plan);
	if (*plan_sha256 && (r = download(sink, run_id, "plan", plan, err)) < 0)
		return r;
	return run_restore(text, bytes, *plan_sha256 ? plan : NULL, ret_run, err);
}

int bring_last_run(struct store *sink, const char *name, struct run *ret_run,
		   char last_id[static RUN_ID_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	struct search search = { name, last_id };
	const char *id, *state, *plan_sha256;
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s-*/run.json", name);
	r = store_list(sink, key, note_record, &search, err);
	if (r < 0 || !*last_id)
		return r;
	(void)snprintf(key, sizeof(key), "%s/run.json", last_id);
	if ((r = store_get_all(sink, key, RUN_JSON_MAX, &text, &bytes, err)) < 0 ||
	    (r = json_parse(key, text, bytes, &record, err)) < 0 ||
	    (r = json_get_string(key, record, "id", &id, err)) < 0 ||
	    (r = json_get_string(key, record, "state", &state, err)) < 0 ||
	    (r = json_get_string(key, record, "plan_sha256", &plan_sha256, err)) < 0)
		return r;
	if (strcmp(id, last_id) != 0)
		return error_set(err, -EBADMSG, "%s: found id \"%.100s\"", key, id);
	return is_final(state) ? 0 : bring_back(sink, last_id, text, bytes, plan_sha256, ret_run, err);
}

/* ---- run.start_from = latest ---- */

/* The spool may hold what is not uploaded yet; uploadd may take it away meanwhile, then the store has it. */
static int link_newest(const char *run_id, const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char from[PATH_BYTES];
	int r = checkpoint_open_newest(run_id, warn_damaged, from, &file, err);

	return r == 0 && link(from, path) < 0 ? -ENOENT : r;
}

int bring_start(struct store *sink, const struct run *run, struct error *err)
{
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];
	int r;

	if (!*run->start_run || access(path_of(PATH_RUN, RUN_START_FILE, path), F_OK) == 0)
		return 0;
	r = link_newest(run->start_run, path, err);
	if (r != -ENOENT)
		return r;
	r = stored_fetch(sink, run->start_run, path, name, err);
	if (r < 0 || *name)
		return r;
	log_warning("%s has no checkpoint; starting from scratch", run->start_run);
	return run_note("{\"start_run\": \"\"}", err);
}

/* ---- The encoder ---- */

int bring_encoder(struct store *source, const char *run_id, struct error *err)
{
	static const char *const names[] = { "encoder.bin", "dataset.json" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		char name[SPOOL_NAME_BYTES], path[PATH_BYTES];

		(void)snprintf(name, sizeof(name), "model/%s", names[i]);
		if (access(spool_path(run_id, name, path), F_OK) < 0)
			r = store_get_file(source, names[i], path, err);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}
