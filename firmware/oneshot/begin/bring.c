/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/bring.h"
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/run/dataset.h"
#include "core/run/spool.h"
#include "model/checkpoint.h"
#include "oneshot/begin/box_stores.h"
#include "oneshot/begin/stored_checkpoint.h"
#include "oneshot/begin/stored_plan.h"
#include "oneshot/begin/stored_record.h"
#include "oneshot/begin/weights.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#define STAMP_PATTERN "YYYYMMDD-HHMMSS"
/* At most so many records are read to find the last run of this box: several boxes may share a sink. */
#define LOOKED_MAX  256u
#define CLOCK_OFF_S 86400
#define ENCODER_MAX UINT32_MAX /* bytes of each file of the encoder */

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
	int r = path_make(path_of(PATH_SLOT, NULL, path), err);

	if (r < 0)
		return r;
	(void)unlink(path_of(PATH_SLOT, RUN_START_FILE, path));
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

/* The newest records of a run.name in the store. Ids of one name sort by time. */
struct search {
	char name[RUN_ID_BYTES]; /* begin of the ids, before the time */
	time_t now;
	uint32_t found; /* the newest id is id[(found - 1) % LOOKED_MAX] */
	char id[LOOKED_MAX][RUN_ID_BYTES];
};

/* Returns whether a key is "NAME-YYYYMMDD-HHMMSS/run.json". */
static bool is_record_of(const char *key, const char *name)
{
	size_t length = strlen(name);

	return strncmp(key, name, length) == 0 && key[length] == '-' &&
	       strspn(key + length + 1, "0123456789-") == strlen(STAMP_PATTERN) &&
	       strcmp(key + length + 1 + strlen(STAMP_PATTERN), "/run.json") == 0;
}

/* Returns whether the time in an id is later than any clock may be wrong: no box began such a run. */
static bool is_of_the_future(const struct search *search, const char *id)
{
	struct tm tm = { 0 };
	const char *end = strptime(id + strlen(search->name) + 1, "%Y%m%d-%H%M%S", &tm);

	return !end || *end || timegm(&tm) > search->now + CLOCK_OFF_S;
}

/* Called for each key of the store, in bytewise order. */
static int note_record(void *context, const struct store_object *object)
{
	struct search *search = context;
	char id[RUN_ID_BYTES];

	if (!is_record_of(object->key, search->name))
		return 0;
	(void)snprintf(id, sizeof(id), "%.*s", (int)(strlen(object->key) - strlen("/run.json")), object->key);
	if (is_of_the_future(search, id))
		log_notice("%s is of the future: leaving it alone", id);
	else
		memcpy(search->id[search->found++ % LOOKED_MAX], id, sizeof(id));
	return 0;
}

/* Brings the file of model.weights, where the run needs it: without a checkpoint it starts from this file;
 * the finished model of a run on features has the base that is in it. */
static int bring_its_weights(const struct run *run, const char *text, uint64_t bytes, bool checkpoint,
			     char ret_path[static PATH_BYTES], struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	char found[DIGEST_HEX_BYTES];
	int r = stored_record_config("run.json", text, bytes, &config, err);

	if (r < 0 || (checkpoint && !*config.model.features_of))
		return r;
	return weights_bring(&config, run->weights_sha256, ret_path, found, err);
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
	if (r == 0 && *run->weights_sha256)
		return bring_its_weights(run, text, bytes, any, ret_path, err);
	if (r < 0 || any || !*run->start_run)
		return r;
	r = bring_start(sink, run->start_run, ret_path, err);
	if (r == 0 && !*ret_path)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_MISSING, .run_id = run->start_run },
			   "%s has no checkpoint any more; starting from scratch", run->start_run);
	return r;
}

/* Brings a run from the store to this disk; a final one without a checkpoint. Writes the record last, because
 * a record means that all other files are there. */
static int bring_back(const struct config *box, struct store *sink, const struct run *run, const char *text,
		      uint64_t bytes, struct run *ret_run, struct error *err)
{
	CLEANUP(free_ptr) char *ours = NULL;
	char path[PATH_BYTES], start[PATH_BYTES] = "";
	const bool plan = *run->plan_sha256, final = run_state_is_final(run->state);
	int r;

	if ((r = box_stores_put(box, run->id, text, bytes, &ours, err)) < 0 ||
	    (r = path_make(path_of(PATH_SLOT, NULL, path), err)) < 0 ||
	    (!final && ((r = spool_make(run->id, err)) < 0 ||
			(r = bring_its_start(sink, run, ours, strlen(ours), start, err)) < 0)))
		return r;
	(void)path_of(PATH_SLOT, "plan", path);
	if (plan && (r = stored_plan_get(sink, run, "run.json", path, err)) < 0)
		return r;
	return run_restore(ours, strlen(ours), plan ? path : NULL, *start ? start : NULL, ret_run, err);
}

int bring_run(const struct config *box, struct store *sink, const char *id, struct run *ret_run,
	      struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run run = { 0 };
	uint64_t bytes;
	int r = stored_record_get(sink, id, &run, &text, &bytes, err);

	if (r == 0 && run_state_is_final(run.state))
		return error_set(err, -EPERM, "%s is %s: only an unfinished run is adopted", id,
				 run_state_name(run.state));
	return r < 0 ? r : bring_back(box, sink, &run, text, bytes, ret_run, err);
}

int bring_trial(const struct config *box, struct store *sink, const char *id, struct run *ret_run,
		struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run run = { 0 };
	uint64_t bytes;
	int r = stored_record_get(sink, id, &run, &text, &bytes, err);

	if (r < 0 || (r = run_is_ours(&run, err)) < 0)
		return r;
	if (r == 0)
		return error_set(err, -ENOENT, "%s is a run of another box", id);
	if ((r = bring_back(box, sink, &run, text, bytes, ret_run, err)) < 0 ||
	    !run_state_is_final(run.state))
		return r;
	ret_run->state = run.state;
	return run_state_set(run.state, err);
}

/* Says why an unfinished run of the store is not taken. */
static void say_left(const struct run *run, const char *why)
{
	log_notice("%s is %s%s: leaving it alone; if no other box works on it, kiln start --adopt %s takes "
		   "it over",
		   run->id, run_state_name(run->state), why, run->id);
}

static void say_anothers(const struct run *run)
{
	char mine[MACHINE_ID_BYTES], here[PATH_BYTES],
		why[3 * PATH_BYTES] = ", and nothing says on which machine";

	if (*run->machine)
		(void)snprintf(why, sizeof(why), " on machine %s%s%s, and this is machine %s%s%s",
			       run->machine, *run->root ? " below " : "", run->root,
			       *machine_id(mine) ? mine : "without a machine-id",
			       *machine_root(here) ? " below " : "", here);
	say_left(run, why);
}

/* Returns 1 where a run of this box names the stores of kiln.conf, else 0. A run that has ended need not,
 * because nothing of its configuration is used. A failure that may pass, such as a full disk, says nothing
 * about the record and is returned. */
static int names_our_stores(const struct config *box, const struct run *run, const char *text, uint64_t bytes,
			    struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	char why[ERROR_TEXT_MAX + 32];
	int r;

	if (run_state_is_final(run->state))
		return 1;
	r = stored_record_config(run->id, text, bytes, &config, err);
	if (r == 0)
		r = box_stores_check(&config, box, err);
	if (r == 0)
		return 1;
	if (error_exit_code(err) == EX_UNAVAILABLE)
		return r;
	(void)snprintf(why, sizeof(why), ", but %s", err->text);
	say_left(run, why);
	return 0;
}

/* Reads a record, and decides whether it is the last run of this box. Returns 1 where it is; then *ret_text
 * is the text of the record. Everybody who may write into the sink's bucket can put a record there, so a
 * record that is damaged, refused by the server or not this box's is passed over. */
static int look_at(const struct config *box, struct store *sink, const char *id, struct run *ret_run,
		   char **ret_text, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run run = { 0 };
	int r = stored_record_get(sink, id, &run, &text, ret_bytes, err);

	if (r == -EFBIG || (r < 0 && error_exit_code(err) != EX_UNAVAILABLE)) {
		log_warning("%s, going on with the run before it", err->text);
		return 0;
	}
	if (r < 0 || *run.repeats)
		return r;
	if ((r = run_is_ours(&run, err)) < 0)
		return r;
	if (r == 0) {
		if (!run_state_is_final(run.state))
			say_anothers(&run);
		return 0;
	}
	r = names_our_stores(box, &run, text, *ret_bytes, err);
	if (r <= 0)
		return r;
	*ret_run = run;
	*ret_text = TAKE(text);
	return 1;
}

static int find_records(struct store *sink, struct search *search, struct error *err)
{
	char pattern[STORE_KEY_MAX];

	(void)snprintf(pattern, sizeof(pattern), "%s-*/run.json", search->name);
	return store_list(sink, pattern, note_record, search, err);
}

int bring_last_run(const struct config *box, struct store *sink, struct run *ret_run, struct error *err)
{
	CLEANUP(free_ptr) struct search *search = calloc(1, sizeof(*search));
	CLEANUP(free_ptr) char *text = NULL;
	struct run run = { 0 };
	uint64_t bytes;
	int r;

	if (!search)
		return error_set(err, -ENOMEM, "no memory for the runs of the store");
	(void)run_id_name(box, search->name);
	search->now = time(NULL);
	r = find_records(sink, search, err);
	for (uint32_t i = 0; r == 0 && i < LOOKED_MAX && i < search->found; i++)
		r = look_at(box, sink, search->id[(search->found - 1 - i) % LOOKED_MAX], &run, &text, &bytes,
			    err);
	if (r <= 0)
		return r;
	if (!run_state_is_final(run.state))
		return bring_back(box, sink, &run, text, bytes, ret_run, err);
	*ret_run = run;
	return 0;
}

/* ---- The encoder ---- */

int bring_encoder(struct store *store, const char *folder, const char *run_id, struct error *err)
{
	static const char *const names[] = { "encoder.bin", "vocabulary.txt", "tokenizer.json",
					     DATASET_NAME };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		char name[SPOOL_NAME_BYTES], key[STORE_KEY_MAX], path[PATH_BYTES];

		(void)snprintf(name, sizeof(name), "model/%s", names[i]);
		(void)snprintf(key, sizeof(key), "%s%s", folder, names[i]);
		if (access(spool_path(run_id, name, path), F_OK) < 0)
			r = store_get_file(store, key, path, ENCODER_MAX, err);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}
