/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shards of a source of records (records_source.h), and the stores that hold them: the shards of the
 * run's plan, or all shards below a URL, in the order of their keys.
 *
 * The plan comes from the store. shards_open() checks that it is the plan that the model was trained with:
 * its SHA-256 is in the model's metadata, and its settings are those of the model's configuration. The plan
 * of a model that was trained on features (model/features.h) lists these and no pictures, so it is not read.
 */
#pragma once

#include "data/plan.h"
#include "data/plan_classes.h"
#include "trained/records_source.h"
#include "trained/trained.h"

struct shards {
	struct store *store[CONFIG_SOURCES_MAX];
	uint32_t stores;
	struct plan *plan; /* NULL: the shards below a URL, `key` */
	struct plan
		*names; /* the plan of the run for objects below a URL: it has their classes; NULL = none */
	struct plan_classes classes; /* the classes of a model that was trained on features; empty
					otherwise */
	cJSON *dataset;              /* dataset.json, which has these classes; NULL = none */
	enum split split;
	char **key;
	uint64_t count, capacity;
};

/* Fills *ret_shards, which must be zeroed. The caller calls shards_done() even after an error. Errors: those
 * of a store; -EBADMSG the plan is not the model's; -ENOENT there are no shards; the text names the split. */
MUST_CHECK int shards_open(const struct trained *trained, const struct records_source *source,
			   struct shards *ret_shards, struct error *err);
void shards_done(struct shards *shards);

/* Returns shard `index` < shards->count. Its strings are those of `shards`; `source` is the index of its
 * store. A shard below a URL has no ETag, no version and no size. */
struct plan_shard shards_get(const struct shards *shards, uint64_t index);

/* Finds the class of a key by the plan of the model's run, or by dataset.json beside a model that was trained
 * on features, for a model of objects. Errors: -EINVAL the run has no plan, or no such class. */
MUST_CHECK int shards_class(struct shards *shards, const char *key, uint64_t *ret_class, struct error *err);
