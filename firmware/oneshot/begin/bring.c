/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/bring.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "model/checkpoint.h"
#include "oneshot/begin/stored_checkpoint.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/weights.h"

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

/* ---- The checkpoint of a run that goes on ---- */

static void warn_damaged(const char *run_id, const char *name, const struct error *err)
{
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_DAMAGED, .run_id = run_id, .key = name },
		   "%s, going back to the one before", err->text);
}

int bring_checkpoint(struct store *sink, const char *run_id, bool *ret_any, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES], temporary[PATH_BYTES];
	int r = checkpoint_open_newest(run_id, warn_damaged, path, &file, err);

	*ret_any = r == 0;
	if (r != -ENOENT)
		return r;
	r = stored_checkpoint_get(sink, run_id, spool_path(run_id, "checkpoints/begin.tmp", temporary), name,
				  err);
	if (r == 0 && *name)
		r = file_rename_durable(temporary, spool_path(run_id, name, path), err);
	if (r < 0)
		return r;
	*ret_any = *name;
	if (*name)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_BROUGHT, .run_id = run_id, .key = name },
			   "%s: no good checkpoint on this disk; going on from %s in the store", run_id,
			   name);
	else
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_MISSING, .run_id = run_id },
			   "%s: no checkpoint on this disk or in the store; starting from its beginning",
			   run_id);
	return 0;
}

/* ---- The weights to start with ---- */

/* Makes `path` a hard link to the newest checkpoint in the spool, which may be newer than those in the store.
 * Returns -ENOENT where the spool has none, or where kiln-uploadd has just removed it: then it is in the
 * store. */
static int link_newest(const char *run_id, const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char from[PATH_BYTES];
	int r = checkpoint_open_newest(run_id, warn_damaged, from, &file, err);

	return r == 0 && link(from, path) < 0 ? -ENOENT : r;
}

int bring_start(struct store *sink, const char *run_id, char ret_path[static PATH_BYTES], struct error *err)
{
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES] = "";
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0)
		return r;
	(void)unlink(path_of(PATH_RUNS, RUN_START_FILE, path));
	r = link_newest(run_id, path, err);
	if (r == -ENOENT) {
		r = stored_checkpoint_get(sink, run_id, path, name, err);
		if (r == 0 && !*name)
			*path = '\0';
	}
	if (r == 0)
		memcpy(ret_path, path, PATH_BYTES);
	return r;
}

/* ---- A new disk ---- */

struct search {
	const char *name;   /* value of run.name in the configuration */
	const char *before; /* find the newest run that is older than this id; "" = the newest of all */
	char *id;           /* the id found; a buffer of RUN_ID_BYTES */
};

/* Returns whether a key is "<run name>-YYYYMMDD-HHMMSS/run.json". */
static bool is_record_of(const char *key, const char *name)
{
	size_t length = strlen(name);

	return strncmp(key, name, length) == 0 && key[length] == '-' &&
	       strspn(key + length + 1, "0123456789-") == strlen(STAMP_PATTERN) &&
	       strcmp(key + length + 1 + strlen(STAMP_PATTERN), "/run.json") == 0;
}

/* Called for each key of the store, in order. Ids sort by time, so the last match is the newest run. */
static int note_record(void *context, const struct store_object *object)
{
	struct search *search = context;

	if (is_record_of(object->key, search->name) &&
	    (!*search->before || strncmp(object->key, search->before, strlen(search->before)) < 0))
		(void)snprintf(search->id, RUN_ID_BYTES, "%.*s",
			       (int)(strlen(object->key) - strlen("/run.json")), object->key);
	return 0;
}

static int bring_its_weights(const struct run *run, const char *text, uint64_t bytes,
			     char ret_path[static PATH_BYTES], struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	char found[DIGEST_HEX_BYTES];
	int r = stored_record_config("run.json", text, bytes, &config, err);

	return r < 0 ? r : weights_bring(&config, run->weights_sha256, ret_path, found, err);
}

/* Brings the newest checkpoint of an unfinished run. Where it has no checkpoint, the run starts from its
 * beginning: then brings the weights with which it started, and ret_path is their file. `text` is the
 * run.json of the run. */
static int bring_its_start(struct store *sink, const struct run *run, const char *text, uint64_t bytes,
			   char ret_path[static PATH_BYTES], struct error *err)
{
	bool any;
	int r = bring_checkpoint(sink, run->id, &any, err);

	*ret_path = '\0';
	if (r == 0 && !any && *run->weights_sha256)
		return bring_its_weights(run, text, bytes, ret_path, err);
	if (r < 0 || any || !*run->start_run)
		return r;
	r = bring_start(sink, run->start_run, ret_path, err);
	if (r == 0 && !*ret_path)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_MISSING, .run_id = run->start_run },
			   "%s has no checkpoint any more; starting from scratch", run->start_run);
	return r;
}

/* Brings a run from the store to this disk. Writes the record last, because a record means that all other
 * files are there. */
static int bring_back(struct store *sink, const struct run *run, const char *text, uint64_t bytes,
		      struct run *ret_run, struct error *err)
{
	char path[PATH_BYTES], start[PATH_BYTES];
	bool plan = *run->plan_sha256;
	int r;

	if ((r = path_make(path_of(PATH_RUNS, NULL, path), err)) < 0 || (r = spool_make(run->id, err)) < 0 ||
	    (r = bring_its_start(sink, run, text, bytes, start, err)) < 0)
		return r;
	(void)path_of(PATH_RUNS, "plan", path);
	if (plan && (r = download(sink, run->id, "plan", path, err)) < 0)
		return r;
	return run_restore(text, bytes, plan ? path : NULL, *start ? start : NULL, ret_run, err);
}

int bring_run(struct store *sink, const char *id, struct run *ret_run, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run run = { 0 };
	uint64_t bytes;
	int r = stored_record_get(sink, id, &run, &text, &bytes, err);

	if (r == 0 && run_state_is_final(run.state))
		return error_set(err, -EPERM, "%s is %s: only an unfinished run is adopted", id,
				 run_state_name(run.state));
	return r < 0 ? r : bring_back(sink, &run, text, bytes, ret_run, err);
}

/* Returns true, and logs a notice, where the run belongs to another machine, which may be working on it. */
static bool leaves_alone(const struct run *run)
{
	char mine[MACHINE_ID_BYTES];

	if (!stored_record_is_anothers(run))
		return false;
	log_notice(
		"%s is %s on machine %s, and this is machine %s: leaving it alone; if that machine no longer "
		"works on it, kiln start --adopt %s takes it over",
		run->id, run_state_name(run->state), run->machine, machine_id(mine), run->id);
	return true;
}

int bring_last_run(struct store *sink, const char *name, struct run *ret_run, struct error *err)
{
	char pattern[STORE_KEY_MAX], id[RUN_ID_BYTES] = "", before[RUN_ID_BYTES];
	struct search search = { name, before, id };
	struct run run;

	(void)snprintf(pattern, sizeof(pattern), "%s-*/run.json", name);
	do {
		CLEANUP(free_ptr) char *text = NULL;
		uint64_t bytes;
		int r;

		memcpy(before, id, sizeof(before));
		*id = '\0';
		run = (struct run){ 0 };
		if ((r = store_list(sink, pattern, note_record, &search, err)) < 0 || !*id ||
		    (r = stored_record_get(sink, id, &run, &text, &bytes, err)) < 0)
			return r;
		if (!run_state_is_final(run.state) && !leaves_alone(&run))
			return bring_back(sink, &run, text, bytes, ret_run, err);
	} while (!run_state_is_final(run.state));
	*ret_run = run;
	return 0;
}

/* ---- The encoder ---- */

int bring_encoder(struct store *source, const char *run_id, struct error *err)
{
	static const char *const names[] = { "encoder.bin", "vocabulary.txt", "dataset.json" };
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
