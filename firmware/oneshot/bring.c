/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"
#include "core/log.h"
#include "core/paths.h"
#include "core/spool.h"
#include "drivers/digest/digest.h"
#include "oneshot/oneshot.h"

#include <inttypes.h>
#include <string.h>

#define RUN_JSON_MAX  (4u << 20)
#define LATEST_MAX    65536u
#define LATEST_NAME   "checkpoints/latest.json"
#define STAMP_PATTERN "YYYYMMDD-HHMMSS"

/* ---- The newest checkpoint of a run in the store ---- */

struct latest {
	char name[SPOOL_NAME_BYTES]; /* relative to the run */
	char sha256[DIGEST_HEX_BYTES];
	int64_t step;
};

/* -ENOENT: the run has none in the store yet. */
static int find_latest(struct store *sink, const char *run_id, struct latest *ret_latest, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	const char *name, *sha256;
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s/" LATEST_NAME, run_id);
	if ((r = store_get_all(sink, key, LATEST_MAX, &text, &bytes, err)) < 0 ||
	    (r = json_parse(key, text, bytes, &json, err)) < 0 ||
	    (r = json_get_string(key, json, "key", &name, err)) < 0 ||
	    (r = json_get_string(key, json, "sha256", &sha256, err)) < 0)
		return r;
	ret_latest->step = spool_checkpoint_step(name);
	if (ret_latest->step < 0)
		return error_set(err, -EBADMSG,
				 "%s: found key \"%.200s\", expected checkpoints/ckpt-N.safetensors", key,
				 name);
	(void)snprintf(ret_latest->name, sizeof(ret_latest->name), "%s", name);
	(void)snprintf(ret_latest->sha256, sizeof(ret_latest->sha256), "%s", sha256);
	return 0;
}

static int download(struct store *sink, const char *run_id, const char *name, const char *path,
		    struct error *err)
{
	char key[STORE_KEY_MAX];

	(void)snprintf(key, sizeof(key), "%s/%s", run_id, name);
	return store_get_file(sink, key, path, err);
}

/* Checked before it gets its name: traind takes what it finds. */
static int download_checkpoint(struct store *sink, const char *run_id, const struct latest *latest,
			       const char *path, struct error *err)
{
	char temporary[PATH_BYTES + 16], sha256[DIGEST_HEX_BYTES];
	int r;

	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	if ((r = download(sink, run_id, latest->name, temporary, err)) < 0 ||
	    (r = digest_file(temporary, sha256, err)) < 0)
		return r;
	if (strcmp(sha256, latest->sha256) == 0)
		return file_rename_durable(temporary, path, err);
	(void)unlink(temporary);
	return error_set(err, -EBADMSG, "%s/%s: SHA-256 %s, latest.json says %s", run_id, latest->name,
			 sha256, latest->sha256);
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

static int bring_checkpoint(struct store *sink, const char *run_id, struct error *err)
{
	struct latest latest;
	char path[PATH_BYTES];
	int r = find_latest(sink, run_id, &latest, err);

	if (r == 0)
		r = download_checkpoint(sink, run_id, &latest, spool_path(run_id, latest.name, path), err);
	if (r < 0 && r != -ENOENT)
		return r;
	log_notice("%s: no record on this disk; going on from %s in the store", run_id,
		   r == 0 ? latest.name : "its beginning");
	return 0;
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

static int note_newest(void *context, const char *name, uint64_t bytes)
{
	int64_t *newest = context, step = spool_checkpoint_step(name);

	(void)bytes;
	if (step > *newest)
		*newest = step;
	return 0;
}

/* The spool may hold what is not uploaded yet; uploadd may take it away meanwhile, then the store has it. */
static bool link_newest(const char *run_id, int64_t than, const char *path)
{
	char name[SPOOL_NAME_BYTES], from[PATH_BYTES];
	int64_t newest = -1;

	if (spool_list(run_id, note_newest, &newest, NULL) < 0 || newest < than || newest < 0)
		return false;
	return link(spool_path(run_id, spool_checkpoint_name((uint64_t)newest, name), from), path) == 0;
}

int bring_start(struct store *sink, const struct run *run, struct error *err)
{
	char path[PATH_BYTES];
	struct latest latest = { .step = -1 };
	int r;

	if (!*run->start_run || access(path_of(PATH_RUN, RUN_START_FILE, path), F_OK) == 0)
		return 0;
	r = find_latest(sink, run->start_run, &latest, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (link_newest(run->start_run, latest.step, path))
		return 0;
	if (r == 0)
		return download_checkpoint(sink, run->start_run, &latest, path, err);
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
