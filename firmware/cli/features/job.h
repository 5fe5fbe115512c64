/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of `kiln prep --features`: runs the frozen base of a configuration over all pictures once, and
 * writes its outputs as shards.
 *
 *     head.c     what can be computed once, and the configuration of the head
 *     sources.c  the plan, the weights and the device
 *     rows.c     reads the pictures of a shard, a batch at a time, and decodes them on all threads
 *     shard.c    makes a shard of features
 *     place.c    where the output may be
 *     there.c    what is in the output already
 *     beside.c   the files beside the shards
 *     job.c      all of it in order
 *
 * The output:
 *     train/, validation/, test/   shards: 00000-of-00012.tfrecord
 *     base.safetensors             the base (model/features.h)
 *     features.conf                trains the head on the shards
 *     features.json                what the features are of: SHA-256 of the base and of the pictures, device
 *     pictures.plan                the pictures of each split (data/plan.h)
 *     dataset.json manifest.jsonl  as of every kiln prep
 *
 * A shard of pictures becomes a shard of features, in the same split and at the same place in the order of
 * keys: so a run on the features gets the rows in the order of a run on the pictures. Single objects are
 * dealt to shards by a permutation that depends on the seed alone, because neighbours in the order of keys
 * are of one class.
 *
 * Crash: a shard is put whole or not at all, and depends on nothing that changes. features.json is there
 * before the first shard, so the next `kiln prep --features` knows whether the shards that are there are of
 * the same base, the same pictures and the same device, keeps them, and goes on. prep.incomplete is there
 * until all is written.
 *
 * Threads: the main thread owns the job. Other threads read it, while they decode a batch.
 */
#pragma once

#include "cli/prep/stores.h"
#include "core/base/paths.h"
#include "core/config/config.h"
#include "core/ring/cursor.h"
#include "data/plan.h"
#include "drivers/digest/digest.h"
#include "model/features.h"
#include "model/model.h"

#define JOB_COLUMN   "features"       /* the feature with the outputs of the base */
#define JOB_NAME     "image/filename" /* the feature with the name of the picture */
#define JOB_NAME_MAX 1024u

#define JOB_RECORD_KEY "features.json"
#define JOB_PLAN_KEY   "pictures.plan"
#define JOB_CONFIG_KEY "features.conf"
#define JOB_MARK       "kiln prep --features\n" /* content of prep.incomplete */
#define JOB_KEY_BYTES  64u

/* A file without a name: it goes with the process. */
struct nameless {
	int fd; /* -1 = none */
	char path[PATH_BYTES];
};

/* A shard of features. */
struct job_shard {
	enum split split;
	uint64_t number;       /* in its split */
	uint64_t first, count; /* places in the permuted split, where the source has objects */
	bool is_there;         /* the output had the shard before this command */
	uint64_t records, bytes;
	char key[JOB_KEY_BYTES], etag[STORE_ETAG_MAX], sha256[DIGEST_HEX_BYTES];
};

struct job {
	const char *file; /* CONF */
	struct config_store where;
	const char *url; /* URL of the output */
	uint64_t seed, per_shard, threads;
	bool replace, json;

	struct config config; /* what CONF says */
	struct graph graph;   /* base and head */
	struct nameless plan_file, base_file, weights_file;
	struct plan *plan;
	struct safetensors *base, *weights;
	char *conf;            /* text of features.conf */
	struct cJSON *classes; /* their names; NULL = nobody has names */
	struct gpu *gpu;
	struct model *model; /* the base */
	uint64_t outputs;    /* numbers that the base gives for a row */
	char base_sha256[DIGEST_HEX_BYTES], pictures_sha256[DIGEST_HEX_BYTES];

	int lock; /* locked file in the output, where that is a folder; -1 = none */
	struct store *store;
	bool marked; /* prep.incomplete is there */
	struct job_shard *shard;
	uint64_t shards, done; /* done: how many are written or were there */
	uint64_t left_out, pictures;
	uint64_t begun_us, said_us;
};

/* job.c: Runs the job, and prints a summary. Errors: -EINVAL what cannot be computed once; -EEXIST the output
 * has features of other pictures, another base or another device, or shards of others; -EBUSY another kiln
 * prep writes there; those of the stores, of the model and of records. */
MUST_CHECK int job_run(struct job *job, struct error *err);
void job_done(struct job *job);

/* The base is the first part of the graph. */
static inline const struct tensor *job_output(const struct job *job)
{
	return graph_at(&job->graph, job->graph.node[job->graph.base_nodes - 1].output);
}
