/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first training records of a configuration's first source, decoded as in epoch 1: those of the first
 * training shards in the order of their keys, without the shards that are held out for validation.
 *
 * Order: first_records_open -> first_records_next* -> first_records_done. One thread.
 */
#pragma once

#include "data/batch.h"
#include "drivers/store/store.h"

struct first_records {
	const struct config *config;
	struct store *store;
	char **key;
	uint32_t keys, capacity, shard; /* shard: the next one */
	struct example_schema schema;
	struct batch_pictures *pictures;
	struct batch_slot batch; /* of one row */
	int64_t splits[EXAMPLE_FEATURES_MAX][2];
	uint8_t empty;
	char *raw;
	uint8_t *plain;
	uint64_t plain_capacity;
	const uint8_t *data; /* the bytes of the shard */
	uint64_t bytes, at;
};

/* Fills *ret_records, which must be zeroed. The caller calls first_records_done() even after an error.
 * Errors: those of a store; -ENOENT no training shard. */
MUST_CHECK int first_records_open(const struct config *config, struct first_records *ret_records,
				  struct error *err);
/* Decodes the next record into records->batch. Returns 1, or 0 after the last one. Errors: those of a store
 * and of batch_parse(), with the shard. */
MUST_CHECK int first_records_next(struct first_records *records, struct error *err);
void first_records_done(struct first_records *records);
