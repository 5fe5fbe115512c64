/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/job.h"

#include "cli/features/beside.h"
#include "cli/features/head.h"
#include "cli/features/place.h"
#include "cli/features/shard.h"
#include "cli/features/sources.h"
#include "cli/features/there.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/run/manifest.h"
#include "drivers/gpu/gpu.h"

#include <inttypes.h>
#include <string.h>

/* Least number of train shards of objects where --records-per-shard is not given; never fewer than
 * order.lanes; a shard has at most so many records and bytes. */
#define SHARDS_LEAST  20u
#define RECORDS_USUAL 500u
#define BYTES_MOST    (UINT64_C(64) << 20)

/* ---- The shards ---- */

static uint64_t objects_per_shard(const struct job *job)
{
	const uint64_t lanes = job->config.order.lanes,
		       train = plan_shards(job->plan, SPLIT_TRAIN) /
			       (lanes > SHARDS_LEAST ? lanes : SHARDS_LEAST),
		       fit = BYTES_MOST / (job_output(job)->elements * sizeof(float));
	uint64_t records = train < RECORDS_USUAL ? train : RECORDS_USUAL;

	records = records < fit ? records : fit;
	return records ? records : 1;
}

/* Returns the number of shards of a split: as many as there are shards of pictures, or the objects in shards.
 */
static uint64_t shards_of(const struct job *job, enum split split)
{
	const uint64_t pictures = plan_shards(job->plan, split);

	return plan_is_of_objects(job->plan) ? (pictures + job->per_shard - 1) / job->per_shard : pictures;
}

static void list_split(struct job *job, enum split split)
{
	const uint64_t pictures = plan_shards(job->plan, split), shards = shards_of(job, split);

	for (uint64_t i = 0; i < shards; i++) {
		struct job_shard *shard = &job->shard[job->shards++];

		shard->split = split;
		shard->number = i;
		shard->first = i * job->per_shard;
		shard->count =
			pictures - shard->first < job->per_shard ? pictures - shard->first : job->per_shard;
		(void)snprintf(shard->key, sizeof(shard->key), "%s/%05" PRIu64 "-of-%05" PRIu64 ".tfrecord",
			       split_name(split), i, shards);
	}
}

/* A run refuses fewer train shards than lanes. Shards of pictures are checked with the plan. */
static int check_lanes(const struct job *job, struct error *err)
{
	const uint64_t lanes = job->config.order.lanes, shards = shards_of(job, SPLIT_TRAIN),
		       pictures = plan_shards(job->plan, SPLIT_TRAIN);

	if (shards >= lanes)
		return 0;
	return error_set(err, -EINVAL,
			 "--records-per-shard: found %" PRIu64 ", which gives %" PRIu64
			 " train shards of %" PRIu64 " pictures, expected at most %" PRIu64
			 ": order.lanes in %s is %" PRIu64 ", and each lane needs at least one shard",
			 job->per_shard, shards, pictures, (pictures - 1) / (lanes - 1), job->file, lanes);
}

static int list_shards(struct job *job, struct error *err)
{
	uint64_t shards = 0;
	int r;

	if (!plan_is_of_objects(job->plan) && job->per_shard)
		return error_set(err, -EINVAL,
				 "--records-per-shard: found %" PRIu64
				 ", expected nothing: each shard of pictures in %s "
				 "becomes a shard of features",
				 job->per_shard, job->config.source[0].store.url);
	if (plan_is_of_objects(job->plan) && !job->per_shard)
		job->per_shard = objects_per_shard(job);
	if ((r = check_lanes(job, err)) < 0)
		return r;
	for (enum split split = 0; split < SPLIT_MAX; split++)
		shards += shards_of(job, split);
	job->shard = calloc(shards + 1, sizeof(*job->shard));
	if (!job->shard)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " shards", shards);
	for (enum split split = 0; split < SPLIT_MAX; split++)
		list_split(job, split);
	return 0;
}

/* Makes a shard, with the mark of an unfinished set beside it. */
static int make_shard(struct job *job, struct rows *rows, struct job_shard *shard, struct error *err)
{
	int r = job->marked
			? 0
			: store_put(job->store, MANIFEST_INCOMPLETE_NAME, JOB_MARK, strlen(JOB_MARK), err);

	job->marked = true;
	return r < 0 ? r : shard_make(job, rows, shard, err);
}

static int make_shards(struct job *job, bool resumes, struct error *err)
{
	CLEANUP(rows_closep) struct rows *rows = NULL;
	int r = rows_open(job, &rows, err);

	for (uint64_t i = 0; r == 0 && i < job->shards; i++) {
		struct job_shard *shard = &job->shard[i];

		if (resumes)
			r = shard_look(job, shard, err);
		if (r == 0 && !shard->is_there)
			r = make_shard(job, rows, shard, err);
		job->done++;
	}
	return r;
}

/* ---- All of it ---- */

static int prepare(struct job *job, struct error *err)
{
	int r;

	if ((r = config_load(job->file, &job->config, err)) < 0 || (r = head_check(job, err)) < 0 ||
	    (r = place_check(job, err)) < 0 || (r = there_open(job, err)) < 0 ||
	    (r = sources_plan(job, err)) < 0 || (r = list_shards(job, err)) < 0 ||
	    (r = beside_find_classes(job, err)) < 0 || (r = head_configure(job, err)) < 0 ||
	    (r = sources_base(job, err)) < 0)
		return r;
	return sources_device(job, err);
}

int job_run(struct job *job, struct error *err)
{
	int r = prepare(job, err), there;

	if (r < 0)
		return r;
	there = there_decide(job, err);
	if (there < 0 || (r = sources_open(job, err)) < 0)
		return there < 0 ? there : r;
	job->begun_us = job->said_us = clock_us();
	if ((!there && (r = there_mark(job, err)) < 0) || (r = make_shards(job, there == 1, err)) < 0 ||
	    (r = beside_write(job, err)) < 0)
		return r;
	if (isatty(STDERR_FILENO))
		fputc('\n', stderr);
	beside_report(job);
	return 0;
}

static void nameless_done(struct nameless *file)
{
	close_fd(&file->fd);
}

void job_done(struct job *job)
{
	model_close(job->model);
	gpu_close(job->gpu);
	safetensors_close(job->base);
	safetensors_close(job->weights);
	plan_close(job->plan);
	graph_done(&job->graph);
	store_close(job->store);
	nameless_done(&job->plan_file);
	nameless_done(&job->base_file);
	nameless_done(&job->weights_file);
	close_fd(&job->lock);
	free(job->shard);
	free(job->conf);
	cJSON_Delete(job->classes);
	config_done(&job->config);
}
