/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How records lie in a slot of the ring. Each feature of the schema has a column, a ragged feature has two
 * (splits and values). Then follow BATCH_COLUMN_EMPTY and, with fetch.bad_record = "skip",
 * BATCH_COLUMN_QUARANTINE.
 *
 * A picture's column has the decoded values: a thread that parses records with pictures has a struct
 * batch_pictures for it.
 *
 * Order: batch_slot(), then batch_parse() or batch_empty_row() for each row, by any number of threads and in
 * any order, then batch_pack() once.
 *
 * Why ragged columns are packed last: a row of the packed column begins where the row before it ends, so a
 * thread would have to wait for the lengths of all rows before its own. Until batch_pack(), row i therefore
 * lies at i times the largest row's bytes, and splits[i + 1] holds its number of values.
 */
#pragma once

#include "core/config/config.h"
#include "core/ring/ring.h"
#include "data/example.h"
#include "data/picture.h"

static_assert(CONFIG_FEATURE_NAME_BYTES == RING_NAME_MAX, "a feature's name fits a column's");
static_assert(CONFIG_FEATURES_MAX == EXAMPLE_FEATURES_MAX, "a schema is made of the configured features");
static_assert(RING_COLUMNS_MAX >= 2 * EXAMPLE_FEATURES_MAX + 2,
	      "all features may be ragged, beside BATCH_COLUMN_*");
static_assert(CONFIG_STREAMS_MAX == CURSOR_PLACES_MAX, "the cursor has a place for each stream");

/* uint8: 1 = the row counts for nothing, as its record was skipped or its lane has ended. */
#define BATCH_COLUMN_EMPTY "empty"
/* uint8, 0 bytes per row: one struct ring_quarantine for the whole slot. */
#define BATCH_COLUMN_QUARANTINE "quarantine"

#define BATCH_SPLITS "/splits"
#define BATCH_VALUES "/values"

/* Makes the schema of the configured features; their names stay the configuration's. Errors: -EINVAL a
 * feature is too large, or has the name of a ragged feature's column. */
MUST_CHECK int batch_schema(const struct config *config, struct example_schema *ret_schema,
			    struct error *err);

/* The shape of a ring for this schema, with slots of `rows` rows: run.batch_rows where one trainer has all
 * lanes, else those of the rank's lanes (order_part()). The number of slots is ring.slots. */
void batch_geometry(const struct config *config, const struct example_schema *schema, uint64_t rows,
		    struct ring_geometry *ret_geometry);

/* Where the columns of a slot lie, by feature. */
struct batch_slot {
	const struct example_schema *schema;
	uint8_t *values[EXAMPLE_FEATURES_MAX];
	int64_t *splits[EXAMPLE_FEATURES_MAX]; /* NULL = the feature is not ragged */
	uint64_t row_bytes[EXAMPLE_FEATURES_MAX];
	uint8_t *empty;
	struct ring_quarantine *quarantine; /* NULL = the ring has none */
};
struct batch_slot batch_slot(const struct example_schema *schema, const struct ring *ring,
			     const struct ring_slot *slot);

/* The memory with which one thread makes features that differ between record and row: pictures, which are
 * decoded, and features that `preprocess` makes. */
struct batch_decoder;
/* *ret_decoder is NULL where there are none. Errors: those of picture_decoder_new() and preprocess_open().
 */
MUST_CHECK int batch_decoder_new(const struct config *config, struct batch_decoder **ret_decoder,
				 struct error *err);
void batch_decoder_freep(struct batch_decoder **decoder); /* for CLEANUP() */
/* preprocess_skip() of this decoder; nothing for NULL. */
void batch_decoder_skip(struct batch_decoder *decoder, uint32_t feature);
/* Returns how many pictures were decoded with a warning so far; 0 for NULL. */
uint64_t batch_decoder_warnings(const struct batch_decoder *decoder);

/* Parses a record into a row; on failure the row is empty. `bits`: 64 random bits of the record
 * (plan_record_bits()), which say where random_crop cuts its pictures; NULL = at the centre. `decoder`: the
 * thread's own. Errors: those of example_parse(), picture_decode() and batch_make(). */
MUST_CHECK int batch_parse(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
			   const void *record, uint64_t bytes, const uint64_t *bits, struct error *err);
/* Does what batch_parse() does for a record of a plan of objects (data/plan.h): the feature of dtype
 * "picture" gets the object, the feature of integers the number of its class, or a 1 at this place where it
 * has several values. Errors: those of picture_decode(); -EBADMSG there are more classes than values. */
MUST_CHECK int batch_object(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
			    const void *object, uint64_t bytes, uint64_t label, const uint64_t *bits,
			    struct error *err);
/* Computes the features of a row that `preprocess` makes, where the caller has written the others;
 * batch_parse() does it itself. Errors: those of preprocess_row(). */
MUST_CHECK int batch_make(const struct batch_slot *batch, const struct batch_decoder *decoder, uint32_t row,
			  struct error *err);
/* Fills a row with zeros and marks it as empty. */
void batch_empty_row(const struct batch_slot *batch, uint32_t row);

/* Returns the bytes of one row of this feature in its column; upper bound for a ragged feature. */
uint64_t batch_row_bytes(const struct example_feature *feature);

/* Whether any feature is a picture. */
bool batch_has_pictures(const struct example_schema *schema);
/* Whether any feature is ragged, so that slots need batch_pack(). */
bool batch_is_ragged(const struct example_schema *schema);
/* Moves the values of ragged columns together, once all of the `rows` rows are filled. Sets the used bytes of
 * each ragged feature's values. */
void batch_pack(const struct batch_slot *batch, uint32_t rows,
		uint64_t ret_bytes[static EXAMPLE_FEATURES_MAX]);
/* Sets column[].bytes of a slot, from its rows and the bytes that batch_pack() returned; 0 for
 * BATCH_COLUMN_QUARANTINE, which fetchd sets. */
void batch_set_bytes(const struct example_schema *schema, const struct ring_geometry *geometry,
		     const uint64_t packed[static EXAMPLE_FEATURES_MAX], struct ring_slot *slot);
