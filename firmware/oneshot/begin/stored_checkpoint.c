/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/stored_checkpoint.h"
#include "core/base/events.h"
#include "core/run/latest.h"
#include "drivers/digest/digest.h"
#include "model/formats/safetensors.h"

#include <string.h>

#define TRIED_BYTES 2048u

/* State of a walk over the checkpoints of a run: first the one that latest.json names, then the others,
 * newest first. */
struct walk {
	struct store *sink;
	const char *run_id;
	char sha256[LATEST_SHA256_BYTES]; /* SHA-256 of the newest checkpoint, from latest.json ... */
	uint64_t bytes;                   /* ... and its size */
	int64_t latest;                   /* step of the checkpoint that latest.json names; -1 = none */
	int64_t below;                    /* only checkpoints with smaller steps were not tried yet */
	int64_t next;                     /* step of the checkpoint to try next; -1 = all were tried */
};

static char *key_of(const struct walk *walk, const char *name, char key[static STORE_KEY_MAX])
{
	(void)snprintf(key, STORE_KEY_MAX, "%s/%s", walk->run_id, name);
	return key;
}

/* ---- Which ones there are ---- */

/* Reads latest.json. Where it is missing or damaged, the names of the checkpoints tell which is the newest.
 */
static int read_latest(struct walk *walk, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	struct latest latest;
	uint64_t bytes;
	int r = store_get_all(walk->sink, key_of(walk, LATEST_NAME, key), LATEST_BYTES_MAX, &text, &bytes,
			      err);

	if (r == 0 && (r = latest_parse(key, text, bytes, &latest, err)) == 0) {
		walk->latest = (int64_t)latest.step;
		walk->bytes = latest.bytes;
		memcpy(walk->sha256, latest.sha256, sizeof(walk->sha256));
	}
	if (r != -EBADMSG && r != -EFBIG && r != -E2BIG)
		return r == -ENOENT ? 0 : r;
	event_send(&(struct event){ .id = EVENT_LATEST_DAMAGED, .run_id = walk->run_id },
		   "%s, going by the names of the checkpoints", err->text);
	return 0;
}

static int note_stored(void *context, const struct store_object *object)
{
	struct walk *walk = context;
	int64_t step = spool_checkpoint_step(object->key + strlen(walk->run_id) + 1);

	if (step > walk->next && step < walk->below && step != walk->latest)
		walk->next = step;
	return 0;
}

static int find_next(struct walk *walk, struct error *err)
{
	char glob[STORE_KEY_MAX];

	walk->next = -1;
	return store_list(walk->sink, key_of(walk, "checkpoints/ckpt-*", glob), note_stored, walk, err);
}

static int find_first(struct walk *walk, struct error *err)
{
	int r = read_latest(walk, err);

	walk->next = walk->latest;
	return r < 0 || walk->next >= 0 ? r : find_next(walk, err);
}

/* ---- Getting one ---- */

/* Copies one checkpoint to `path` and checks it there: it must be a complete file and, if latest.json names
 * it, have the SHA-256 given there. Removes a bad copy. */
static int fetch_once(const struct walk *walk, const char *name, const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char key[STORE_KEY_MAX], sha256[DIGEST_HEX_BYTES];
	int r;

	if ((r = store_get_file(walk->sink, key_of(walk, name, key), path,
				walk->next == walk->latest ? walk->bytes : UINT64_MAX, err)) < 0 ||
	    (r = digest_file(path, sha256, err)) < 0)
		return r;
	if (walk->next == walk->latest && strcmp(sha256, walk->sha256) != 0)
		r = error_set(err, -EBADMSG, "%s: SHA-256 %s, latest.json says %s", key, sha256,
			      walk->sha256);
	else if ((r = safetensors_open(path, &file, err)) < 0)
		(void)error_prefix(err, "%s", key);
	if (r < 0)
		(void)unlink(path);
	return r;
}

/* A copy that is bad is fetched again: only what stays bad says something about the checkpoint in the store.
 */
static int fetch(const struct walk *walk, const char *name, const char *path, struct error *err)
{
	int r = fetch_once(walk, name, path, err);

	return r == -EBADMSG ? fetch_once(walk, name, path, err) : r;
}

int stored_checkpoint_get(struct store *sink, const char *run_id, const char *path,
			  char ret_name[static SPOOL_NAME_BYTES], struct error *err)
{
	struct walk walk = { .sink = sink, .run_id = run_id, .latest = -1, .below = INT64_MAX };
	char name[SPOOL_NAME_BYTES], tried[TRIED_BYTES] = "";
	int r = find_first(&walk, err);

	while (r == 0 && walk.next >= 0) {
		size_t used = strlen(tried);

		r = fetch(&walk, spool_checkpoint_name((uint64_t)walk.next, name), path, err);
		if (r == 0) {
			(void)snprintf(ret_name, SPOOL_NAME_BYTES, "%s", name);
			return 0;
		}
		if (r != -EBADMSG && r != -ENOENT && r != -EFBIG)
			return r;
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_DAMAGED, .run_id = run_id, .key = name },
			   "%s, going back to the one before", err->text);
		(void)snprintf(tried + used, sizeof(tried) - used, "%s%s", used ? ", " : "", name);
		if (walk.next != walk.latest)
			walk.below = walk.next;
		r = find_next(&walk, err);
	}
	if (r == 0 && *tried)
		return error_set(err, -EBADMSG,
				 "%s: no checkpoint in %s is good: %s; without one the run would start from "
				 "its beginning",
				 run_id, store_url(sink), tried);
	if (r == 0)
		*ret_name = '\0';
	return r;
}

int stored_checkpoint_any(struct store *sink, const char *run_id, bool *ret_any, struct error *err)
{
	struct walk walk = { .sink = sink, .run_id = run_id, .latest = -1, .below = INT64_MAX };
	int r = find_first(&walk, err);

	if (r == 0)
		*ret_any = walk.next >= 0;
	return r;
}
