/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/shards.h"

#include "core/base/temporary.h"
#include "core/run/dataset.h"
#include "core/run/run.h"
#include "data/plan_config.h"
#include "drivers/digest/digest.h"
#include "model/features.h"
#include "trained/locate.h"

#include <string.h>

static int add_object(void *context, const struct store_object *object)
{
	struct shards *shards = context;

	if (shards->count == shards->capacity) {
		const uint64_t capacity = shards->capacity ? 2 * shards->capacity : 64;
		void *grown = realloc(shards->key, capacity * sizeof(*shards->key));

		if (!grown)
			return -ENOMEM;
		shards->key = grown;
		shards->capacity = capacity;
	}
	shards->key[shards->count] = strdup(object->key);
	if (!shards->key[shards->count])
		return -ENOMEM;
	shards->count++;
	return 0;
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
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the keys and removes duplicates, because several globs may match one key. */
static void sort_keys(struct shards *shards)
{
	uint64_t count = 0;

	if (shards->count)
		qsort(shards->key, shards->count, sizeof(*shards->key), compare_keys);
	for (uint64_t i = 0; i < shards->count; i++)
		if (count && strcmp(shards->key[count - 1], shards->key[i]) == 0)
			free(shards->key[i]);
		else
			shards->key[count++] = shards->key[i];
	shards->count = count;
}

static int list_below(struct shards *shards, const struct trained *trained,
		      const struct records_source *source, struct error *err)
{
	struct config_store where = trained->where;
	struct store_options options = { 0 };
	int r;

	where.url = source->data;
	where.at[0] = '\0'; /* the commit belongs to the sink */
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
	r = store_get_file(run, "plan", path, PLAN_FILE_MAX, err);
	return r == -ENOENT ? error_set(err, r, "%s/plan: the model's run has no plan%s", store_url(run),
					trained->unattended ? "" : "; give the shards with --data")
			    : r;
}

/* Refuses the splits of a model that was trained on features: its plan has shards of features. */
static int check_reads_plan(const struct trained *trained, struct error *err)
{
	const char *base = safetensors_value(trained->saved.file, FEATURES_NOTE);

	if (!base)
		return 0;
	return error_set(err, -EINVAL, "%s: its run read features of %s, and the model reads pictures%s",
			 trained->name, base,
			 trained->unattended ? ", which its plan does not list: compare it with the champion "
					       "by kiln evaluate --data, then kiln experiments promote "
					       "--force"
					     : ": give the pictures with --data");
}

/* Reads a lakefs:// source at the commit that the model's run has read. */
static int use_commit(const struct trained *trained, uint32_t source, struct config_store *where,
		      struct error *err)
{
	CLEANUP(store_closep) struct store *run = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	struct config_lakefs parts;
	uint64_t bytes;
	int r;

	if (!config_lakefs(where->url, &parts))
		return 0;
	if ((r = locate_in_run(trained->folder, &trained->where, "", &run, err)) < 0 ||
	    (r = store_get_all(run, "run.json", RUN_JSON_MAX, &text, &bytes, err)) < 0 ||
	    (r = json_parse("run.json", text, bytes, &record, err)) < 0)
		return r;
	return run_commits_use("run.json", record, source, where, err);
}

static int open_sources(struct shards *shards, const struct trained *trained, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < trained->saved.config.sources; i++) {
		struct store_options options = { 0 };
		struct config_store where;

		r = trained_source(trained, i, &where, err);
		if (r == 0)
			r = use_commit(trained, i, &where, err);
		if (r == 0)
			r = store_open(&where, &options, &shards->store[i], err);
		shards->stores += r == 0;
	}
	return r;
}

/* Checks that the plan in the file `path` is the one that the model was trained with. */
static int check_plan(const struct trained *trained, const char *path, struct error *err)
{
	const char *expected = safetensors_value(trained->saved.file, "data_hash");
	char found[DIGEST_HEX_BYTES];
	int r = expected && *expected ? digest_file(path, found, err) : 0;

	if (r < 0 || !expected || !*expected || strcmp(found, expected) == 0)
		return r;
	return error_set(
		err, -EBADMSG,
		"%s: the plan of the model's run: found SHA-256 %s, expected %s, which the model names%s",
		store_url(trained->folder), found, expected,
		trained->unattended ? "" : "; give the shards with --data");
}

static int open_checked(const struct trained *trained, const char *path, struct plan **ret_plan,
			struct error *err)
{
	int r;

	if ((r = fetch_plan(trained, path, err)) < 0 || (r = check_plan(trained, path, err)) < 0 ||
	    (r = plan_open(path, ret_plan, err)) < 0)
		return r;
	return plan_check_config(*ret_plan, "the plan of the model's run", &trained->saved.config, err);
}

static int open_plan(struct shards *shards, const struct trained *trained, const char *path, enum split split,
		     struct error *err)
{
	int r = open_checked(trained, path, &shards->plan, err);

	if (r < 0)
		return r;
	shards->split = split;
	shards->count = plan_shards(shards->plan, split);
	return open_sources(shards, trained, err);
}

/* The open plan needs no name: its file is mapped. */
static int list_plan(struct shards *shards, const struct trained *trained, enum split split,
		     struct error *err)
{
	char path[PATH_BYTES];
	int r = check_reads_plan(trained, err);

	if (r < 0 || (r = temporary_file("plan", path, err)) < 0)
		return r;
	r = open_plan(shards, trained, path, split, err);
	(void)unlink(path);
	return r;
}

/* Takes the classes of objects from dataset.json beside the model: a run on features has them there alone. */
static int read_classes(struct shards *shards, const struct trained *trained, struct error *err)
{
	const cJSON *name;
	int r = trained_dataset(trained, &shards->dataset, err);

	cJSON_ArrayForEach(name, dataset_classes(shards->dataset)) {
		if (r == 0 && cJSON_IsString(name)) {
			CLEANUP(free_ptr) char *key = NULL;

			if (asprintf(&key, "%s/", name->valuestring) < 0)
				return error_set(err, -ENOMEM, "no memory for the names of classes");
			r = plan_classes_add(&shards->classes, key, err);
		}
	}
	return r;
}

/* Opens the plan for the classes of objects below a URL. Without a plan, objects can be predicted, but not
 * evaluated: shards_class() says so then. */
static int open_names(struct shards *shards, const struct trained *trained, struct error *err)
{
	char path[PATH_BYTES];
	struct error why;
	int r;

	if (!config_reads_objects(&trained->saved.config))
		return 0;
	if (safetensors_value(trained->saved.file, FEATURES_NOTE))
		return read_classes(shards, trained, err);
	if ((r = temporary_file("plan", path, err)) < 0)
		return r;
	if (open_checked(trained, path, &shards->names, &why) < 0)
		plan_close(TAKE(shards->names));
	(void)unlink(path);
	return 0;
}

int shards_open(const struct trained *trained, const struct records_source *source, struct shards *ret_shards,
		struct error *err)
{
	const char *data = source->data;
	int r = data ? list_below(ret_shards, trained, source, err)
		     : list_plan(ret_shards, trained, source->split, err);

	if (r == -ENOMEM)
		return error_set(err, r, "no memory for the names of shards");
	if (r == 0 && data)
		r = open_names(ret_shards, trained, err);
	if (r < 0)
		return r;
	return ret_shards->count
		       ? 0
		       : error_set(err, -ENOENT, "%s: found no shards of the %s split",
				   data ? data : store_url(trained->folder), split_name(source->split));
}

struct plan_shard shards_get(const struct shards *shards, uint64_t index)
{
	uint32_t source = 0;
	uint64_t of_source;

	if (!shards->plan)
		return (struct plan_shard){ .key = shards->key[index], .etag = "", .version = "" };
	while (index >= (of_source = plan_source_shards(shards->plan, source, shards->split))) {
		index -= of_source;
		source++;
	}
	return plan_shard(shards->plan, source, shards->split, index);
}

int shards_class(struct shards *shards, const char *key, uint64_t *ret_class, struct error *err)
{
	const struct plan *plan = shards->plan ? shards->plan : shards->names;

	if (plan ? plan_label(plan, key, ret_class) : plan_classes_number(&shards->classes, key, ret_class))
		return 0;
	return error_set(err, -EINVAL, "%s: its folder is no class of the model%s", key,
			 plan || shards->classes.count
				 ? ""
				 : ": the model's run has no plan, which has the names of the classes");
}

void shards_done(struct shards *shards)
{
	for (uint32_t i = 0; i < shards->stores; i++)
		store_close(shards->store[i]);
	for (uint64_t i = 0; shards->key && i < shards->count; i++)
		free(shards->key[i]);
	free(shards->key);
	plan_close(shards->plan);
	plan_close(shards->names);
	plan_classes_done(&shards->classes);
	cJSON_Delete(shards->dataset);
}
