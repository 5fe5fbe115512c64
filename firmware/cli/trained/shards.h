/* SPDX-License-Identifier: Apache-2.0 */
/* The shards that a source of records names, in the order of their keys, and the stores that hold them. */
#pragma once

#include "cli/trained/records_source.h"
#include "cli/trained/trained.h"

struct shard_key {
	char *key;
	uint32_t source; /* index of the shard's store */
};

struct shards {
	struct store *store[CONFIG_SOURCES_MAX];
	struct shard_key *shard;
	uint32_t stores, count, capacity;
};

/* Fills *ret_shards, which is zero before. shards_done() is due also after an error.
 * Errors: those of a store; -ENOENT no shards, the split is named. */
MUST_CHECK int shards_open(const struct trained *trained, const struct records_source *source,
			   struct shards *ret_shards, struct error *err);
void shards_done(struct shards *shards);
