/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/beside.h"

#include "cli/base/say.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/manifest.h"
#include "drivers/store/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static uint64_t records_of(const struct job *job, enum split split)
{
	uint64_t records = 0;

	for (uint64_t i = 0; i < job->shards; i++)
		records += job->shard[i].split == split ? job->shard[i].records : 0;
	return records;
}

/* ---- dataset.json ---- */

static int read_classes(struct job *job, struct error *err)
{
	const struct config_store *source = &job->config.source[0].store;
	const struct store_options options = store_options_of(&job->config);
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(json_free) cJSON *dataset = NULL;
	int r = store_open(source, &options, &store, err);

	if (r == 0 && (r = store_get_dataset(store, &dataset, err)) == -ENOENT)
		return 0;
	if (r < 0)
		return error_prefix(err, "%s", source->url);
	job->classes = cJSON_DetachItemViaPointer(dataset, dataset_classes(dataset));
	return 0;
}

int beside_find_classes(struct job *job, struct error *err)
{
	if (!plan_is_of_objects(job->plan))
		return read_classes(job, err);
	job->classes = cJSON_CreateArray();
	for (uint64_t i = 0; i < plan_class_count(job->plan); i++)
		cJSON_AddItemToArray(job->classes, json_string(plan_class(job->plan, i)));
	return 0;
}

static cJSON *add_feature(cJSON *list, const char *name, const char *dtype, uint32_t rank,
			  const uint64_t *shape)
{
	cJSON *feature = cJSON_CreateObject(), *sizes;

	cJSON_AddItemToArray(list, feature);
	cJSON_AddStringToObject(feature, "name", name);
	cJSON_AddStringToObject(feature, "dtype", dtype);
	sizes = cJSON_AddArrayToObject(feature, "shape");
	for (uint32_t i = 0; i < rank; i++)
		cJSON_AddItemToArray(sizes, cJSON_CreateNumber((double)shape[i]));
	return feature;
}

/* The features of a record: shard.c writes them. */
static void add_schema(const struct job *job, cJSON *json)
{
	const struct config *config = &job->config;
	const struct tensor *output = job_output(job);
	cJSON *list = cJSON_AddArrayToObject(json, "schema");
	const char *const copied[] = { config->model.label, config->model.sample_weight };

	(void)add_feature(list, JOB_COLUMN, "float32", output->rank, output->shape);
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
		const struct config_feature *feature = config_feature_named(config, copied[i]);

		if (feature)
			(void)add_feature(list, feature->name,
					  feature->dtype == CONFIG_INT64 ? "int64" : "float32", feature->rank,
					  feature->shape);
	}
	json_add_u64(add_feature(list, JOB_NAME, "bytes", 0, NULL), "bytes_max", JOB_NAME_MAX);
}

static int put_dataset(struct job *job, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *records;
	int r;

	cJSON_AddNumberToObject(json, "version", 1);
	add_schema(job, json);
	if (job->classes)
		cJSON_AddItemToObject(json, "classes", TAKE(job->classes));
	records = cJSON_AddObjectToObject(json, "records");
	for (enum split split = 0; split < SPLIT_MAX; split++)
		json_add_u64(records, split_name(split), records_of(job, split));
	cJSON_AddStringToObject(json, "base", job->config.model.base);
	r = json_print(json, &text, err);
	return r < 0 ? r : store_put_checked(job->store, DATASET_NAME, text, strlen(text), NULL, err);
}

/* ---- manifest.jsonl ---- */

static int put_manifest(struct job *job, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	for (uint64_t i = 0; out && i < job->shards; i++) {
		const struct job_shard *shard = &job->shard[i];

		manifest_print(shard->key, shard->bytes, shard->etag, shard->sha256, shard->records, out);
	}
	if (!out || fclose(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the manifest");
	if (bytes > MANIFEST_BYTES_MAX)
		return error_set(err, -EFBIG,
				 MANIFEST_NAME ": %zu bytes, of which a run reads at most %" PRIu64, bytes,
				 MANIFEST_BYTES_MAX);
	return store_put_checked(job->store, MANIFEST_NAME, text, bytes, NULL, err);
}

int beside_write(struct job *job, struct error *err)
{
	int r;

	if ((r = put_dataset(job, err)) < 0 ||
	    (r = store_put_checked(job->store, JOB_CONFIG_KEY, job->conf, strlen(job->conf), NULL, err)) <
		    0 ||
	    (r = put_manifest(job, err)) < 0)
		return r;
	return store_delete(job->store, MANIFEST_INCOMPLETE_NAME, err);
}

/* ---- The summary ---- */

void beside_report(const struct job *job)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	const double seconds = (double)(clock_us() - job->begun_us) / 1e6;
	uint64_t kept = 0, bytes = 0;

	for (uint64_t i = 0; i < job->shards; i++) {
		kept += job->shard[i].is_there;
		bytes += job->shard[i].bytes;
	}
	if (!job->json) {
		printf("%s: %" PRIu64 " shards (%" PRIu64 " already there), %" PRIu64 " bytes, %" PRIu64
		       " train, %" PRIu64 " validation and %" PRIu64 " test records of %" PRIu64
		       " numbers, %.1f pictures/s\n",
		       job->url, job->shards, kept, bytes, records_of(job, SPLIT_TRAIN),
		       records_of(job, SPLIT_VALIDATION), records_of(job, SPLIT_TEST), job->outputs,
		       seconds > 0 ? (double)job->pictures / seconds : 0);
		if (job->left_out)
			printf("bad pictures left out of the shards that were computed: %" PRIu64
			       ", each with a line above\n",
			       job->left_out);
		printf("%s/" JOB_CONFIG_KEY " trains the layers after %s on them\n", job->url,
		       job->config.model.base);
		return;
	}
	cJSON_AddItemToObject(json, "url", json_string(job->url));
	cJSON_AddStringToObject(json, "base", job->config.model.base);
	json_add_u64(json, "numbers", job->outputs);
	json_add_u64(json, "shards", job->shards);
	json_add_u64(json, "kept", kept);
	json_add_u64(json, "bytes", bytes);
	for (enum split split = 0; split < SPLIT_MAX; split++)
		json_add_u64(json, split_name(split), records_of(job, split));
	json_add_u64(json, "left_out", job->left_out);
	cJSON_AddNumberToObject(json, "seconds", round(seconds * 1e3) / 1e3);
	(void)cli_print_json_line(json);
}
