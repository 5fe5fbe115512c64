/* SPDX-License-Identifier: Apache-2.0 */
/* The shards of a source of records (records_source.h), in the order of their keys, and the stores that hold
 * the shards. */
#pragma once

#include "cli/trained/records_source.h"
#include "cli/trained/trained.h"

struct shard_key {
	char *key;
	uint32_t source; /* index of the store that holds the shard */
};

struct shards {
	struct store *store[CONFIG_SOURCES_MAX];
	struct shard_key *shard;
	uint32_t stores, count, capacity;
};

/* Fills *ret_shards, which must be zeroed. The caller calls shards_done() even after an error. Errors: those
 * of a store; -ENOENT there are no shards; the text names the split. */
MUST_CHECK int shards_open(const struct trained *trained, const struct records_source *source,
			   struct shards *ret_shards, struct error *err);
void shards_done(struct shards *shards);
