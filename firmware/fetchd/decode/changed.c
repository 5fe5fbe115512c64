/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/decode/changed.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/digest/digest.h"
#include "fetchd/decode/index.h"
#include "fetchd/plan/manifest.h"
#include "fetchd/plan/record.h"
#include "fetchd/shard/sources.h"

#include <string.h>

/* ---- Before the fetch ---- */

/* Looks up the object as it is now, and the SHA-256 that the manifest had for it when the plan was made; "" =
 * unknown. A manifest that has changed since then cannot be trusted. */
static int look_up(const struct shard *shard, struct store_object *ret_object, char ret_sha256[static 65],
		   struct error *err)
{
	const struct config *config = &shard->source->fetch->run.config;
	struct store_options options = store_options_of(config);
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_pin manifest;
	int r;

	options.patience_ms = PATIENCE_MS;
	r = store_open(&config->source[shard->plan.source].store, &options, &store, err);

	if (r < 0 || (r = store_stat(store, shard->plan.key, ret_object, err)) < 0 ||
	    (r = record_manifest(shard->plan.source, &manifest, err)) < 0)
		return r;
	*ret_sha256 = '\0';
	if (manifest.bytes > 0)
		r = manifest_sha256(store, &manifest, shard->plan.key, ret_object->pin.bytes, ret_sha256,
				    err);
	if (r == -ESTALE || r == -ENOENT || r == -EBADMSG) {
		log_warning("%s", err->text);
		*ret_sha256 = '\0';
		return 0;
	}
	return r;
}

/* Replaces the size of a shard in its window's account. False: the window would exceed the budget. */
static bool account(struct fetch *fetch, const struct shard *shard, uint64_t bytes)
{
	uint64_t all;
	bool fits;

	(void)pthread_mutex_lock(&fetch->lock);
	fits = !__builtin_add_overflow(shard->group->bytes - shard->plan.bytes, bytes, &all) &&
	       all <= fetch->window_max;
	if (fits)
		shard->group->bytes = all;
	(void)pthread_mutex_unlock(&fetch->lock);
	return fits;
}

/* Gives the shard the pin of the new object, a buffer of its size, and its window the difference in bytes. */
static int set_pin(struct fetch *fetch, struct shard *shard, const struct store_pin *pin, struct error *err)
{
	if (!account(fetch, shard, pin->bytes))
		return index_too_large(fetch, shard, err);
	shard->pin = *pin;
	shard->plan.bytes = pin->bytes;
	shard->repinned = true;
	return shard_reserve(shard, err);
}

/* An object without an ETag cannot be told from another one of its size. */
static bool is_the_pinned(const struct store_pin *pin, const struct store_pin *now)
{
	return *pin->etag && strcmp(pin->etag, now->etag) == 0 && pin->bytes == now->bytes;
}

static bool fetch_again(const struct fetch *fetch, struct shard *shard)
{
	if (shard->fetched_again)
		return false;
	event_send(&(struct event){ .id = EVENT_SHARD_REFETCHED,
				    .run_id = fetch->run.id,
				    .key = shard->plan.key },
		   "%s; but the store still has the pinned object; fetching it once more", shard->err.text);
	shard->fetched_again = true;
	return true;
}

bool changed_repin(struct fetch *fetch, struct shard *shard)
{
	bool replan = fetch->run.config.fetch.changed_object == CHANGED_REPLAN;
	struct store_object now;
	struct error err;

	/* Whether the run may go on is not known: the error of the look-up ends the generation, and the next
	 * start tries again. */
	if (look_up(shard, &now, shard->sha256, &err) < 0) {
		log_notice("%s", shard->err.text);
		(void)error_set(&shard->err, err.code, "%s: cannot look up the changed object: %s",
				shard->plan.key, err.text);
		return false;
	}
	if (is_the_pinned(&shard->pin, &now.pin))
		return fetch_again(fetch, shard);
	if (!replan && (!*shard->sha256 || now.pin.bytes != shard->plan.bytes))
		return false;
	log_notice("%s; fetching the object as it is now", shard->err.text);
	if (set_pin(fetch, shard, &now.pin, &err) < 0) {
		shard->err = err;
		return false;
	}
	return true;
}

/* ---- After the fetch ---- */

static void say(const struct fetch *fetch, const struct shard *shard, const char *why)
{
	event_send(&(struct event){ .id = EVENT_OBJECT_REPINNED,
				    .run_id = fetch->run.id,
				    .key = shard->plan.key },
		   "%s: the object changed since the plan was made, %s; going on", shard->plan.key, why);
}

static void go_on(struct fetch *fetch, struct shard *shard)
{
	struct error err;

	say(fetch, shard, "which fetch.changed_object allows: the run cannot be repeated");
	if (record_note_changed(shard->plan.key, &err) < 0)
		shard->err = err;
}

void changed_check(struct fetch *fetch, struct shard *shard)
{
	char sha256[DIGEST_HEX_BYTES] = "";

	if (*shard->sha256)
		digest_sha256(shard->stored, shard->plan.bytes, sha256);
	if (*sha256 && strcmp(sha256, shard->sha256) == 0)
		say(fetch, shard, "but its bytes have the SHA-256 of manifest.jsonl");
	else if (fetch->run.config.fetch.changed_object == CHANGED_REPLAN)
		go_on(fetch, shard);
	else
		(void)error_set(&shard->err, -ESTALE, "%s changed: found SHA-256 %s, manifest.jsonl says %s",
				shard->plan.key, sha256, shard->sha256);
}
