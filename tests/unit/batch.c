/* SPDX-License-Identifier: Apache-2.0 */
#include "data/batch.h"

#include "tests/unit/picture_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 7, FLOATS_MAX = 5, INTS_MAX = 3 };

static const struct example_schema schema = {
	.features = 3,
	.feature = { { .name = "floats", .dtype = EXAMPLE_FLOAT32, .values_max = FLOATS_MAX },
		     { .name = "id", .dtype = EXAMPLE_INT64, .elements = 1 },
		     { .name = "ints", .dtype = EXAMPLE_INT64, .values_max = INTS_MAX, .truncate = true } },
};

/* The columns of a slot, without a ring. */
struct columns {
	int64_t float_splits[ROWS + 1], int_splits[ROWS + 1], id[ROWS], ints[ROWS * INTS_MAX];
	float floats[ROWS * FLOATS_MAX];
	uint8_t empty[ROWS];
};

static struct batch_slot slot_of(struct columns *columns)
{
	memset(columns, 0xa5, sizeof(*columns));
	return (struct batch_slot){
		.schema = &schema,
		.values = { (uint8_t *)columns->floats, (uint8_t *)columns->id, (uint8_t *)columns->ints },
		.splits = { columns->float_splits, NULL, columns->int_splits },
		.row_bytes = { FLOATS_MAX * sizeof(float), sizeof(int64_t), INTS_MAX * sizeof(int64_t) },
		.empty = columns->empty
	};
}

/* Record n: so many floats and ints, each of which identifies the record. */
static uint64_t record(uint32_t n, int64_t floats, int64_t ints, uint8_t *out, uint64_t capacity)
{
	float values[16];
	int64_t numbers[16], id = n;
	struct example_ragged row[] = { { &floats, values }, { &ints, numbers } };
	const void *rows[] = { &row[0], &id, &row[1] };

	for (uint32_t i = 0; i < 16; i++) {
		values[i] = (float)n + (float)i / 16;
		numbers[i] = -(int64_t)(n * 100 + i);
	}
	return example_write(&schema, rows, out, capacity);
}

static void parse_row(const struct batch_slot *batch, uint32_t row, int64_t floats, int64_t ints,
		      int expected)
{
	uint8_t bytes[512];
	struct error err = { 0 };
	uint64_t used = record(row, floats, ints, bytes, sizeof(bytes));

	assert_int_equal(batch_parse(batch, NULL, row, bytes, used, NULL, &err), expected);
	assert_true(expected == 0 || strstr(err.text, "\"floats\": found 6 values, at most 5"));
}

/* Parses rows in any order: without values, full, too long, skipped and refused ones. Then checks every value
 * at the place that the splits give. */
static void rows_of_any_length(void **state)
{
	static const struct {
		uint32_t row;
		int64_t floats, ints;
		int expected;
	} rows[] = { { 3, 2, 1, 0 }, { 0, 0, 0, 0 }, { 6, FLOATS_MAX, 8, 0 },           { 1, 4, INTS_MAX, 0 },
		     { 4, 0, 2, 0 }, { 5, 3, 0, 0 }, { 2, FLOATS_MAX + 1, 1, -EBADMSG } };
	static const int64_t floats[] = { 0, 0, 4, 4, 6, 6, 9, 14 }, ints[] = { 0, 0, 3, 3, 4, 6, 6, 9 };
	uint64_t bytes[EXAMPLE_FEATURES_MAX];
	struct columns columns;
	struct batch_slot batch = slot_of(&columns);

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		parse_row(&batch, rows[i].row, rows[i].floats, rows[i].ints, rows[i].expected);
	batch_pack(&batch, ROWS, bytes);
	assert_memory_equal(columns.float_splits, floats, sizeof(floats));
	assert_memory_equal(columns.int_splits, ints, sizeof(ints));
	assert_int_equal(bytes[0], 14 * sizeof(float));
	assert_int_equal(bytes[2], 9 * sizeof(int64_t));
	for (uint32_t row = 0; row < ROWS; row++) {
		assert_int_equal(columns.empty[row], row == 2);
		assert_int_equal(columns.id[row], row == 2 ? 0 : row);
		for (int64_t i = floats[row]; i < floats[row + 1]; i++)
			assert_true(columns.floats[i] == (float)row + (float)(i - floats[row]) / 16);
		for (int64_t i = ints[row]; i < ints[row + 1]; i++)
			assert_int_equal(columns.ints[i], -(int64_t)(row * 100 + i - ints[row]));
	}
}

/* A record without a ragged feature has no values of it, whichever way the record is parsed. */
static void missing_is_none(void **state)
{
	static const uint8_t only_id[] = { 0x0a, 0x0f, 0x0a, 0x0d, 0x0a, 0x02, 'i',  'd', 0x12,
					   0x07, 0x1a, 0x05, 0x0a, 0x03, 0x81, 0x80, 0x00 };
	uint64_t bytes[EXAMPLE_FEATURES_MAX];
	struct columns columns;
	struct batch_slot batch = slot_of(&columns);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(batch_parse(&batch, NULL, 0, only_id, sizeof(only_id), NULL, &err), 0);
	batch_empty_row(&batch, 1);
	batch_pack(&batch, 2, bytes);
	assert_int_equal(columns.id[0], 1);
	assert_int_equal(columns.float_splits[2], 0);
	assert_int_equal(columns.int_splits[2], 0);
	assert_int_equal(bytes[0] + bytes[2], 0);
	assert_int_equal(columns.empty[0], 0);
	assert_int_equal(columns.empty[1], 1);
}

/* If a reader overwrites the counts, no value is written outside its column. */
static void wild_counts(void **state)
{
	static const int64_t wild[] = { -1, INT64_MIN, INT64_MAX, FLOATS_MAX + 1, 2 };
	uint64_t bytes[EXAMPLE_FEATURES_MAX];
	struct {
		struct columns columns;
		uint8_t behind[64];
	} memory;
	struct batch_slot batch = slot_of(&memory.columns);

	(void)state;
	memset(memory.behind, 0x5a, sizeof(memory.behind));
	for (uint32_t row = 0; row < ROWS; row++) {
		parse_row(&batch, row, 1, 1, 0);
		memory.columns.float_splits[row + 1] = wild[row % 5];
	}
	batch_pack(&batch, ROWS, bytes);
	assert_in_range(bytes[0], 0, sizeof(memory.columns.floats));
	for (size_t i = 0; i < sizeof(memory.behind); i++)
		assert_int_equal(memory.behind[i], 0x5a);
}

static struct config_feature feature_named(const char *name, int dtype, uint64_t values_max)
{
	return (struct config_feature){
		.name = name, .dtype = dtype, .values_max = values_max, .bytes_max = 9
	};
}

static void geometry(void **state)
{
	static const struct {
		const char *name;
		uint32_t dtype, row_bytes;
		uint64_t capacity;
	} expected[] = { { "tokens/splits", RING_INT64, 8, 11 * 8 },
			 { "tokens/values", RING_INT64, 0, 10 * 100 * 8 },
			 { "text", RING_UINT8, 16, 160 },
			 { "x/splits", RING_INT64, 8, 11 * 8 },
			 { "x/values", RING_FLOAT32, 0, 10 * 3 * 4 },
			 { BATCH_COLUMN_EMPTY, RING_UINT8, 1, 10 },
			 { BATCH_COLUMN_QUARANTINE, RING_UINT8, 0, 4088 } };
	struct config config = {
		.run.batch_rows = 10, .ring.slots = 4, .features = 3, .fetch.bad_record = BAD_RECORD_SKIP
	};
	struct example_schema made;
	struct ring_geometry ring;
	union {
		struct ring_slot slot;
		uint8_t bytes[RING_COLUMN_ALIGN];
	} head = { .slot.rows = 6 };
	struct ring_slot *slot = &head.slot;
	uint64_t packed[EXAMPLE_FEATURES_MAX] = { 80, 0, 12 };
	struct error err = { 0 };

	(void)state;
	config.feature[0] = feature_named("tokens", CONFIG_INT64, 100);
	config.feature[1] = feature_named("text", CONFIG_BYTES, 0);
	config.feature[2] = feature_named("x", CONFIG_FLOAT32, 3);
	assert_int_equal(batch_schema(&config, &made, &err), 0);
	assert_true(batch_is_ragged(&made));
	batch_geometry(&config, &made, config.run.batch_rows, &ring);
	assert_int_equal(ring.columns, sizeof(expected) / sizeof(expected[0]));
	for (uint32_t i = 0; i < ring.columns; i++) {
		assert_string_equal(ring.column[i].name, expected[i].name);
		assert_int_equal(ring.column[i].dtype, expected[i].dtype);
		assert_int_equal(ring.column[i].row_bytes, expected[i].row_bytes);
		assert_int_equal(ring.column[i].capacity, expected[i].capacity);
	}
	batch_set_bytes(&made, &ring, packed, slot);
	assert_int_equal(slot->column[0].bytes, 7 * 8);
	assert_int_equal(slot->column[1].bytes, 80);
	assert_int_equal(slot->column[2].bytes, 6 * 16);
	assert_int_equal(slot->column[3].bytes, 7 * 8);
	assert_int_equal(slot->column[4].bytes, 12);
	assert_int_equal(slot->column[5].bytes, 6);
	assert_int_equal(slot->column[6].bytes, 0);
	config.fetch.bad_record = BAD_RECORD_STOP;
	batch_geometry(&config, &made, config.run.batch_rows, &ring);
	assert_int_equal(ring.columns, sizeof(expected) / sizeof(expected[0]) - 1);
}

static void schemas_that_are_none(void **state)
{
	static char names[EXAMPLE_FEATURES_MAX][8];
	struct config config = { .features = 2 };
	struct example_schema made;
	struct error err = { 0 };

	(void)state;
	config.feature[0] = feature_named("x/values", CONFIG_FLOAT32, 0);
	config.feature[1] = feature_named("x", CONFIG_FLOAT32, 3);
	assert_int_equal(batch_schema(&config, &made, &err), -EINVAL);
	assert_non_null(strstr(err.text, "\"x/values\" is also a column of the ragged feature \"x\""));

	config.features = EXAMPLE_FEATURES_MAX;
	for (uint32_t i = 0; i < EXAMPLE_FEATURES_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "f%u", i);
		config.feature[i] = feature_named(names[i], CONFIG_FLOAT32, 3);
	}
	assert_int_equal(batch_schema(&config, &made, &err), 0);
	assert_int_equal(made.features, 1024);
}

/* ---- Objects: the picture is the object, the label its class ---- */

enum { SIDE = 4 };

static void objects(void **state)
{
	static const struct jpeg_kind kind = { .space = JCS_RGB, .written = JCS_UNKNOWN, .quality = 95 };
	struct config config = { .run.batch_rows = 3, .ring.slots = 4, .features = 2 };
	uint8_t pixels[SIDE * SIDE * 3], image[3][SIDE * SIDE * 3], empty[3];
	CLEANUP(batch_decoder_freep) struct batch_decoder *decoder = NULL;
	struct example_schema made;
	int64_t label[3][2];
	struct batch_slot batch = { .schema = &made, .empty = empty };
	struct error err = { 0 };
	struct file file;

	(void)state;
	memset(pixels, 200, sizeof(pixels));
	memset(label, 0xa5, sizeof(label));
	file = make_jpeg(pixels, SIDE, SIDE, &kind);
	config.feature[0] = (struct config_feature){ .name = "image",
						     .dtype = CONFIG_PICTURE,
						     .rank = 3,
						     .shape = { SIDE, SIDE, 3 },
						     .bytes_max = 9,
						     .pixels_max = 1000 };
	config.feature[1] = (struct config_feature){
		.name = "label", .dtype = CONFIG_INT64, .rank = 1, .shape = { 2 }, .bytes_max = 9
	};
	assert_int_equal(batch_schema(&config, &made, &err), 0);
	assert_int_equal(batch_decoder_new(&config, &decoder, &err), 0);
	batch.values[0] = image[0];
	batch.values[1] = (uint8_t *)label;
	batch.row_bytes[0] = batch_row_bytes(&made.feature[0]);
	batch.row_bytes[1] = batch_row_bytes(&made.feature[1]);
	assert_int_equal(batch_object(&batch, decoder, 0, file.data, file.bytes, 1, NULL, &err), 0);
	assert_true(label[0][0] == 0 && label[0][1] == 1 && empty[0] == 0);
	assert_in_range(image[0][5], 198, 202);
	/* A class beyond the one-hot label, and bytes that are no picture, leave the row empty. */
	assert_int_equal(batch_object(&batch, decoder, 1, file.data, file.bytes, 2, NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "\"label\": found class 2, expected one of 2 values"));
	assert_true(empty[1] == 1 && label[1][0] == 0 && label[1][1] == 0);
	assert_int_equal(batch_object(&batch, decoder, 2, "GIF89a", 6, 0, NULL, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "feature \"image\": "));
	assert_true(empty[2] == 1 && label[2][0] == 0 && image[2][5] == 0);
	/* The number of a class. */
	made.feature[1].elements = 1;
	batch.row_bytes[1] = batch_row_bytes(&made.feature[1]);
	assert_int_equal(batch_object(&batch, decoder, 0, file.data, file.bytes, 7, NULL, &err), 0);
	assert_int_equal(label[0][0], 7);
	free(file.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_any_length),
		cmocka_unit_test(missing_is_none),
		cmocka_unit_test(wild_counts),
		cmocka_unit_test(geometry),
		cmocka_unit_test(objects),
		cmocka_unit_test(schemas_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
