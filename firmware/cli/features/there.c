/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/there.h"

#include "cli/prep/output.h"
#include "core/base/json.h"
#include "core/base/temporary.h"
#include "core/run/manifest.h"
#include "drivers/gpu/gpu.h"

#include <inttypes.h>
#include <string.h>

#define RECORD_MAX (1u << 20)
#define MARK_MAX   4096u

/* Locks the output where it is a folder, and removes what killed writers have left there. */
static int lock_output(struct job *job, struct error *err)
{
	int r = prep_lock(job->url, &job->lock, err);

	return r < 0 || job->lock < 0 ? r : store_abort_stale(job->store, err);
}

int there_open(struct job *job, struct error *err)
{
	const struct store_options options = store_options_of(&job->config);
	int r = store_open(&job->where, &options, &job->store, err);

	return r < 0 ? r : lock_output(job, err);
}

/* ---- features.json ---- */

static cJSON *describe(const struct job *job)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddNumberToObject(json, "version", 1);
	cJSON_AddStringToObject(json, "base", job->config.model.base);
	cJSON_AddStringToObject(json, "base_sha256", job->base_sha256);
	cJSON_AddStringToObject(json, "pictures_sha256", job->pictures_sha256);
	json_add_u64(json, "seed", job->seed);
	json_add_u64(json, "records_per_shard", job->per_shard);
	cJSON_AddItemToObject(json, "device", json_string(gpu_description(job->gpu)));
	return json;
}

static bool is_same(const cJSON *found, const cJSON *expected, const char *key)
{
	return cJSON_Compare(json_member(found, key), json_member(expected, key), true);
}

static const char *text_of(const cJSON *found, const char *key)
{
	const char *text = cJSON_GetStringValue(json_member(found, key));

	return text ? text : "(no name)";
}

/* ---- Which picture is another ---- */

struct change {
	char text[STORE_KEY_MAX + 64]; /* "" = none was found */
};

static bool same_shard(const struct plan_shard *a, const struct plan_shard *b)
{
	return strcmp(a->etag, b->etag) == 0 && strcmp(a->version, b->version) == 0 && a->bytes == b->bytes &&
	       a->label == b->label;
}

/* Compares a split of two plans, both in the order of keys; returns whether they differ. */
static bool compare_split(const struct plan *before, const struct plan *wanted, enum split split,
			  struct change *change)
{
	const uint64_t of_before = plan_shards(before, split), of_wanted = plan_shards(wanted, split);

	for (uint64_t i = 0; i < of_before || i < of_wanted; i++) {
		const struct plan_shard none = { .key = NULL };
		const struct plan_shard a = i < of_before ? plan_shard(before, 0, split, i) : none,
					b = i < of_wanted ? plan_shard(wanted, 0, split, i) : none;
		const int order = !a.key ? 1 : !b.key ? -1 : strcmp(a.key, b.key);

		if (order == 0 && same_shard(&a, &b))
			continue;
		(void)snprintf(change->text, sizeof(change->text), ": %s %s", order < 0 ? a.key : b.key,
			       order == 0  ? "was replaced"
			       : order < 0 ? "is gone or in another split"
					   : "is new or in another split");
		return true;
	}
	return false;
}

/* Finds the first picture that differs from the time when the features were begun. */
static void find_change(struct job *job, struct change *change)
{
	CLEANUP(plan_closep) struct plan *before = NULL;
	char path[PATH_BYTES];
	struct error ignored;

	if (temporary_file("plan", path, &ignored) < 0)
		return;
	if (store_get_file(job->store, JOB_PLAN_KEY, path, PLAN_FILE_MAX, &ignored) == 0 &&
	    plan_open(path, &before, &ignored) == 0)
		for (enum split split = 0; split < SPLIT_MAX; split++)
			if (compare_split(before, job->plan, split, change))
				break;
	(void)unlink(path);
}

static int refuse(struct job *job, const cJSON *found, const cJSON *expected, struct error *err)
{
	struct change change = { "" };

	if (!is_same(found, expected, "base") || !is_same(found, expected, "base_sha256"))
		return error_set(
			err, -EEXIST,
			"%s: the features there are of another base: of %s, or of other weights, input, "
			"scaling or "
			"pooling than those of %s; --replace computes them again, or choose another folder",
			job->url, text_of(found, "base"), job->file);
	if (!is_same(found, expected, "pictures_sha256")) {
		find_change(job, &change);
		return error_set(
			err, -EEXIST,
			"%s: the features there are of other pictures%s; --replace computes them again, or "
			"choose another folder",
			job->url, *change.text ? change.text : ": the schema or the filter is another");
	}
	if (!is_same(found, expected, "device"))
		return error_set(
			err, -EEXIST,
			"%s: the features there are of the device %s, and this machine has %s, whose "
			"numbers differ; go on with that device, or --replace, or choose another folder",
			job->url, text_of(found, "device"), gpu_description(job->gpu));
	return error_set(
		err, -EEXIST,
		"%s: the features there have another --seed or --records-per-shard; give the same ones, or "
		"--replace",
		job->url);
}

/* ---- What is there ---- */

struct listing {
	char foreign[STORE_KEY_MAX + 1];
	char **key; /* keys of the shards of features */
	uint64_t keys, capacity;
};

static void listing_done(struct listing *listing)
{
	for (uint64_t i = 0; i < listing->keys; i++)
		free(listing->key[i]);
	free(listing->key);
}

static bool is_ours(const char *key)
{
	for (enum split split = 0; split < SPLIT_MAX; split++) {
		const size_t bytes = strlen(split_name(split));
		uint64_t number, shards;
		int end = 0;

		if (strncmp(key, split_name(split), bytes) == 0 &&
		    sscanf(key + bytes, "/%" SCNu64 "-of-%" SCNu64 ".tfrecord%n", &number, &shards, &end) ==
			    2 &&
		    end && !key[bytes + (size_t)end])
			return true;
	}
	return false;
}

static int note_key(void *context, const struct store_object *object)
{
	struct listing *listing = context;

	if (!is_ours(object->key)) {
		if (strstr(object->key, ".tfrecord") || strcmp(object->key, MANIFEST_NAME) == 0)
			(void)snprintf(listing->foreign, sizeof(listing->foreign), "%s", object->key);
		return 0;
	}
	if (listing->keys == listing->capacity) {
		const uint64_t capacity = listing->capacity ? 2 * listing->capacity : 64;
		void *grown = realloc(listing->key, capacity * sizeof(*listing->key));

		if (!grown)
			return -ENOMEM;
		listing->key = grown;
		listing->capacity = capacity;
	}
	listing->key[listing->keys] = strdup(object->key);
	return listing->key[listing->keys++] ? 0 : -ENOMEM;
}

/* Removes the features that are there. features.json goes first: after a kill no shard that remains counts as
 * one of these features, and the mark in prep.incomplete lets the next command remove the rest. */
static int remove_all(struct job *job, struct error *err)
{
	CLEANUP(listing_done) struct listing listing = { 0 };
	int r = store_list(job->store, NULL, note_key, &listing, err);

	if (r == 0)
		r = store_put(job->store, MANIFEST_INCOMPLETE_NAME, JOB_MARK, strlen(JOB_MARK), err);
	if (r == 0)
		r = store_delete(job->store, JOB_RECORD_KEY, err);
	if (r == 0)
		r = store_delete(job->store, MANIFEST_NAME, err);
	for (uint64_t i = 0; r == 0 && i < listing.keys; i++)
		r = store_delete(job->store, listing.key[i], err);
	return r;
}

/* The output has no features.json: there must be no shards, but those that a killed --replace had still to
 * remove. */
static int check_empty(struct job *job, struct error *err)
{
	CLEANUP(listing_done) struct listing listing = { 0 };
	CLEANUP(free_ptr) char *mark = NULL;
	uint64_t bytes;
	int r = store_list(job->store, NULL, note_key, &listing, err);

	if (r == 0 && listing.keys && !*listing.foreign)
		(void)snprintf(listing.foreign, sizeof(listing.foreign), "%s", listing.key[0]);
	if (r < 0 || !*listing.foreign)
		return r;
	r = store_get_all(job->store, MANIFEST_INCOMPLETE_NAME, MARK_MAX, &mark, &bytes, err);
	if (r < 0 && r != -ENOENT)
		return error_prefix(err, "%s", job->url);
	if (r == 0 && strcmp(mark, JOB_MARK) == 0)
		return remove_all(job, err);
	return error_set(err, -EEXIST,
			 "%s: found %s, but no " JOB_RECORD_KEY
			 ": kiln prep --features did not write it; choose an empty folder",
			 job->url, listing.foreign);
}

int there_decide(struct job *job, struct error *err)
{
	CLEANUP(json_free) cJSON *found = NULL, *expected = describe(job);
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(job->store, JOB_RECORD_KEY, RECORD_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return check_empty(job, err);
	if (r < 0)
		return error_prefix(err, "%s", job->url);
	if (job->replace)
		return remove_all(job, err);
	if (json_parse(JOB_RECORD_KEY, text, bytes, &found, err) < 0)
		return error_prefix(
			err, "%s: --replace computes the features again, or choose another folder", job->url);
	return cJSON_Compare(found, expected, true) ? 1 : refuse(job, found, expected, err);
}

int there_mark(struct job *job, struct error *err)
{
	CLEANUP(json_free) cJSON *json = describe(job);
	CLEANUP(free_ptr) char *text = NULL;
	int r;

	if ((r = json_print(json, &text, err)) < 0 ||
	    (r = store_put(job->store, MANIFEST_INCOMPLETE_NAME, JOB_MARK, strlen(JOB_MARK), err)) < 0 ||
	    (r = store_put_file(job->store, JOB_PLAN_KEY, job->plan_file.path, NULL, NULL, err)) < 0 ||
	    (r = store_put_file(job->store, FEATURES_BASE_FILE, job->base_file.path, NULL, NULL, err)) < 0)
		return r;
	return store_put_checked(job->store, JOB_RECORD_KEY, text, strlen(text), NULL, err);
}
