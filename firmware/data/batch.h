/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How records lie in the ring: a column a feature of the schema, two for a ragged one, then
 * BATCH_COLUMN_EMPTY and, with fetch.bad_record = "skip", BATCH_COLUMN_QUARANTINE.
 *
 * Filling a slot: batch_slot, then each row by batch_parse() or batch_empty_row(), by any number of threads
 * and in any order, then batch_pack() once. Until then row i of a ragged column lies at i times its most
 * bytes, and splits[i + 1] is its number of values: rows do not wait for the lengths of those before them.
 */
#pragma once

#include "core/config/config.h"
#include "core/ring/ring.h"
#include "data/example.h"

static_assert(CONFIG_FEATURE_NAME_BYTES == RING_NAME_MAX, "a feature's name fits a column's");
static_assert(CONFIG_STREAMS_MAX == CURSOR_PLACES_MAX, "the cursor has a place for each stream");

/* uint8: 1 = a record that was skipped or a lane that has ended, the row counts for nothing. */
#define BATCH_COLUMN_EMPTY "empty"
/* uint8, no bytes a row: a struct ring_quarantine. */
#define BATCH_COLUMN_QUARANTINE "quarantine"

#define BATCH_SPLITS "/splits"
#define BATCH_VALUES "/values"

/* Names are the config's. Errors: -EINVAL a feature is too large, or there are more columns than a ring has.
 */
MUST_CHECK int batch_schema(const struct config *config, struct example_schema *ret_schema,
			    struct error *err);

/* The ring of run.batch_rows and ring.slots for it. */
void batch_geometry(const struct config *config, const struct example_schema *schema,
		    struct ring_geometry *ret_geometry);

/* A slot's columns, by feature. */
struct batch_slot {
	const struct example_schema *schema;
	uint8_t *values[EXAMPLE_FEATURES_MAX];
	int64_t *splits[EXAMPLE_FEATURES_MAX]; /* of a ragged one, else NULL */
	uint64_t row_bytes[EXAMPLE_FEATURES_MAX];
	uint8_t *empty;
	struct ring_quarantine *quarantine; /* NULL = the ring has none */
};
struct batch_slot batch_slot(const struct example_schema *schema, const struct ring *ring,
			     const struct ring_slot *slot);

/* A record into a row; on failure the row stays empty. Errors: those of example_parse(). */
MUST_CHECK int batch_parse(const struct batch_slot *batch, uint32_t row, const void *record, uint64_t bytes,
			   struct error *err);
void batch_empty_row(const struct batch_slot *batch, uint32_t row);

bool batch_is_ragged(const struct example_schema *schema);
/* Moves the values of ragged columns together, after the last of `rows` rows is in. Bytes by feature. */
void batch_pack(const struct batch_slot *batch, uint32_t rows,
		uint64_t ret_bytes[static EXAMPLE_FEATURES_MAX]);
/* column[].bytes of a slot from its rows and what batch_pack() gave; of BATCH_COLUMN_QUARANTINE 0. */
void batch_set_bytes(const struct example_schema *schema, const struct ring_geometry *geometry,
		     const uint64_t packed[static EXAMPLE_FEATURES_MAX], struct ring_slot *slot);
