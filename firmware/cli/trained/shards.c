/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/shards.h"

#include "cli/base/temporary.h"
#include "cli/trained/locate.h"
#include "data/plan.h"

#include <string.h>

static int add_key(struct shards *shards, const char *key, uint32_t source)
{
	if (shards->count == shards->capacity) {
		const uint32_t capacity = shards->capacity ? 2 * shards->capacity : 64;
		void *grown = realloc(shards->shard, capacity * sizeof(*shards->shard));

		if (!grown)
			return -ENOMEM;
		shards->shard = grown;
		shards->capacity = capacity;
	}
	shards->shard[shards->count] = (struct shard_key){ strdup(key), source };
	return shards->shard[shards->count++].key ? 0 : -ENOMEM;
}

static int add_object(void *context, const struct store_object *object)
{
	return add_key(context, object->key, 0);
}

/* Returns the glob for the keys of a split; "" matches all keys. */
static const char *glob_of(const struct config *config, uint32_t source, enum split split)
{
	const struct config_source *from = &config->source[source];
	const char *const globs[SPLIT_MAX] = { [SPLIT_TRAIN] = from->train_glob,
					       [SPLIT_VALIDATION] = from->validation_glob,
					       [SPLIT_TEST] = from->test_glob };

	return globs[split];
}

static bool is_new_glob(const struct config *config, uint32_t source, enum split split)
{
	for (uint32_t i = 0; i < source; i++)
		if (strcmp(glob_of(config, i, split), glob_of(config, source, split)) == 0)
			return false;
	return true;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(((const struct shard_key *)a)->key, ((const struct shard_key *)b)->key);
}

/* Sorts the keys and removes duplicates, because several globs may match one key. */
static void sort_keys(struct shards *shards)
{
	uint32_t count = 0;

	if (shards->count)
		qsort(shards->shard, shards->count, sizeof(*shards->shard), compare_keys);
	for (uint32_t i = 0; i < shards->count; i++)
		if (count && strcmp(shards->shard[count - 1].key, shards->shard[i].key) == 0)
			free(shards->shard[i].key);
		else
			shards->shard[count++] = shards->shard[i];
	shards->count = count;
}

static int list_below(struct shards *shards, const struct trained *trained,
		      const struct records_source *source, struct error *err)
{
	struct config_store where = trained->where;
	struct store_options options = { 0 };
	int r;

	where.url = source->data;
	if ((r = store_open(&where, &options, &shards->store[0], err)) < 0)
		return r;
	shards->stores = 1;
	for (uint32_t i = 0; r == 0 && i < trained->saved.config.sources; i++) {
		const char *glob = glob_of(&trained->saved.config, i, source->split);

		if (is_new_glob(&trained->saved.config, i, source->split))
			r = store_list(shards->store[0], *glob ? glob : NULL, add_object, shards, err);
	}
	sort_keys(shards);
	return r;
}

/* Copies the plan of the model's run to a file. The plan is "RUN/plan", the model is in the folder
 * "RUN/model". */
static int fetch_plan(const struct trained *trained, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *run = NULL;
	int r = locate_in_run(trained->folder, &trained->where, "", &run, err);

	if (r < 0)
		return r;
	r = store_get_file(run, "plan", path, err);
	return r == -ENOENT
		       ? error_set(err, r, "%splan: the model's run has no plan; give the shards with --data",
				   store_url(run))
		       : r;
}

static int open_sources(struct shards *shards, const struct trained *trained, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < trained->saved.config.sources; i++) {
		struct store_options options = { 0 };
		struct config_store where;

		r = trained_source(trained, i, &where, err);
		if (r == 0)
			r = store_open(&where, &options, &shards->store[i], err);
		shards->stores += r == 0;
	}
	return r;
}

static int add_plan(struct shards *shards, const char *path, enum split split, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	int r = plan_open(path, &plan, err);

	for (uint32_t source = 0; r == 0 && source < shards->stores; source++)
		for (uint64_t i = 0; r == 0 && i < plan_source_shards(plan, source, split); i++)
			r = add_key(shards, plan_shard(plan, source, split, i).key, source);
	return r;
}

static int list_plan(struct shards *shards, const struct trained *trained, enum split split,
		     struct error *err)
{
	char path[PATH_BYTES];
	int r = temporary_file("plan", path, err);

	if (r < 0)
		return r;
	r = fetch_plan(trained, path, err);
	if (r == 0)
		r = open_sources(shards, trained, err);
	if (r == 0)
		r = add_plan(shards, path, split, err);
	(void)unlink(path);
	return r;
}

int shards_open(const struct trained *trained, const struct records_source *source, struct shards *ret_shards,
		struct error *err)
{
	const char *data = source->data;
	int r = data ? list_below(ret_shards, trained, source, err)
		     : list_plan(ret_shards, trained, source->split, err);

	if (r == -ENOMEM)
		return error_set(err, r, "no memory for the names of shards");
	if (r < 0)
		return r;
	return ret_shards->count
		       ? 0
		       : error_set(err, -ENOENT, "%s: found no shards of the %s split",
				   data ? data : store_url(trained->folder), split_name(source->split));
}

void shards_done(struct shards *shards)
{
	for (uint32_t i = 0; i < shards->stores; i++)
		store_close(shards->store[i]);
	for (uint32_t i = 0; i < shards->count; i++)
		free(shards->shard[i].key);
	free(shards->shard);
}
