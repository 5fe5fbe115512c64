/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object that is another one than the plan has. The run stops, unless the bytes are the same: by the
 * SHA-256 that manifest.jsonl had for it when the plan was made, which is checked over the whole object; or
 * unless fetch.changed_object says to go on. The plan stays as it is: each time the shard is loaded, also
 * after a restart, its pin is found to be wrong and is looked up anew.
 */
#include "core/base/events.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "drivers/digest/digest.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

#define NOTED_MAX 64u /* keys in the record */

static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- The manifests that may vouch ---- */

int changed_note_manifests(const struct store_pin *pin, uint32_t sources, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *array = cJSON_AddArrayToObject(object, "manifests");
	int r;

	for (uint32_t i = 0; i < sources; i++) {
		cJSON *entry = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(array, entry) || !json_add_u64(entry, "bytes", pin[i].bytes) ||
		    !cJSON_AddItemToObject(entry, "etag", json_string(pin[i].etag)) ||
		    !cJSON_AddItemToObject(entry, "version", json_string(pin[i].version)))
			return error_set(err, -ENOMEM, "run.json: no memory");
	}
	r = json_print(object, &text, err);
	return r < 0 ? r : run_note(text, err);
}

static int read_record(cJSON **ret_record, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = run_json(&text, err);

	return r < 0 ? r : json_parse("run.json", text, strlen(text), ret_record, err);
}

/* Without any: 0 bytes. */
static int manifest_pin(uint32_t source, struct store_pin *ret_pin, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const char *etag, *version;
	const cJSON *entry;
	int r = read_record(&record, err);

	memset(ret_pin, 0, sizeof(*ret_pin));
	if (r < 0)
		return r;
	entry = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(record, "manifests"), (int)source);
	if (!entry)
		return 0;
	if ((r = json_get_u64("run.json", entry, "bytes", &ret_pin->bytes, err)) < 0 ||
	    (r = json_get_string("run.json", entry, "etag", &etag, err)) < 0 ||
	    (r = json_get_string("run.json", entry, "version", &version, err)) < 0)
		return r;
	(void)snprintf(ret_pin->etag, sizeof(ret_pin->etag), "%s", etag);
	(void)snprintf(ret_pin->version, sizeof(ret_pin->version), "%s", version);
	return 0;
}

/* ---- What it is now ---- */

/* A manifest that is not what it was vouches for nothing. */
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
	    (r = manifest_pin(shard->plan.source, &manifest, err)) < 0)
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

/* Room for what it is now, in the account of its window, too. */
static int take_pin(struct fetch *fetch, struct shard *shard, const struct store_pin *pin, struct error *err)
{
	(void)pthread_mutex_lock(&fetch->lock);
	shard->window->bytes = shard->window->bytes - shard->plan.bytes + pin->bytes;
	(void)pthread_mutex_unlock(&fetch->lock);
	shard->pin = *pin;
	shard->plan.bytes = pin->bytes;
	shard->repinned = true;
	return shard_reserve(shard, err);
}

bool changed_repin(struct fetch *fetch, struct shard *shard)
{
	bool replan = fetch->run.config.fetch.changed_object == CHANGED_REPLAN;
	struct store_object now;
	struct error err;

	/* Nobody knows whether the run goes on: that failure, which may pass, is what ends the generation. */
	if (look_up(shard, &now, shard->sha256, &err) < 0) {
		log_notice("%s", shard->err.text);
		(void)error_set(&shard->err, err.code, "%s: what it is now: %s", shard->plan.key, err.text);
		return false;
	}
	if (!replan && (!*shard->sha256 || now.pin.bytes != shard->plan.bytes))
		return false;
	log_notice("%s; fetching what it is now", shard->err.text);
	if (take_pin(fetch, shard, &now.pin, &err) < 0) {
		shard->err = err;
		return false;
	}
	return true;
}

/* ---- Whether the run goes on with it ---- */

static bool is_noted(const cJSON *list, const char *key)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
		if (cJSON_IsString(item) && strcmp(item->valuestring, key) == 0)
			return true;
	return false;
}

/* The run cannot be repeated from its plan any more: its record says so. */
static int note_changed(const char *key, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL, *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *list;
	int r = read_record(&record, err);

	if (r < 0)
		return r;
	list = cJSON_DetachItemFromObjectCaseSensitive(record, "changed");
	list = list ? list : cJSON_CreateArray();
	if (!cJSON_AddItemToObject(object, "changed", list))
		return error_set(err, -ENOMEM, "run.json: no memory");
	if (cJSON_GetArraySize(list) >= (int)NOTED_MAX || is_noted(list, key))
		return 0;
	(void)cJSON_AddItemToArray(list, json_string(key));
	r = json_print(object, &text, err);
	return r < 0 ? r : run_note(text, err);
}

static void say(const struct fetch *fetch, const struct shard *shard, const char *why)
{
	event_send(&(struct event){ .id = EVENT_OBJECT_REPINNED,
				    .run_id = fetch->run.id,
				    .key = shard->plan.key },
		   "%s: it is another object than the plan has, %s; going on", shard->plan.key, why);
}

static void go_on(struct fetch *fetch, struct shard *shard)
{
	struct error err;
	int r;

	say(fetch, shard, "as fetch.changed_object allows: the run cannot be repeated");
	(void)pthread_mutex_lock(&record_lock);
	r = note_changed(shard->plan.key, &err);
	(void)pthread_mutex_unlock(&record_lock);
	if (r < 0)
		shard->err = err;
}

void changed_check(struct fetch *fetch, struct shard *shard)
{
	char sha256[DIGEST_HEX_BYTES] = "";

	if (*shard->sha256)
		digest_sha256(shard->stored, shard->plan.bytes, sha256);
	if (*sha256 && strcmp(sha256, shard->sha256) == 0)
		say(fetch, shard, "and its bytes have the SHA-256 of manifest.jsonl");
	else if (fetch->run.config.fetch.changed_object == CHANGED_REPLAN)
		go_on(fetch, shard);
	else
		(void)error_set(&shard->err, -ESTALE, "%s changed: found SHA-256 %s, manifest.jsonl says %s",
				shard->plan.key, sha256, shard->sha256);
}
