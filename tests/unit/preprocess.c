/* SPDX-License-Identifier: Apache-2.0 */
#include "data/preprocess.h"

#include "data/batch.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config_fixture.h"

/* The expected numbers are those of the layers of Keras 3.15.1 with TensorFlow 2.16, for these values. */
#define SCHEMA                                                                              \
	"schema = ( { name = \"w\"; dtype = \"bytes\"; shape = [ 2 ]; bytes_max = 16; },\n" \
	"  { name = \"i\"; dtype = \"int64\"; shape = [ 2 ]; },\n"                          \
	"  { name = \"f\"; dtype = \"float32\"; shape = [ 2 ]; },\n"                        \
	"  { name = \"r\"; dtype = \"int64\"; values_max = 3; } );\n"                       \
	"model: { input = \"f\"; label = \"i\"; };\n"
#define TOWNS "vocabulary = [ \"Bonn\", \"Köln\" ]; "

enum { W, I, F, R, MADE };

/* What the record has. */
struct given {
	const char *words[2];
	int64_t whole[2];
	float numbers[2];
};

static const struct {
	const char *row; /* of `preprocess`, without its name */
	struct given given;
	uint32_t dtype;
	uint64_t elements;
	double expected[12];
	const char *refused; /* words of the error; NULL: none */
} cases[] = {
#define WORDS(a, b)               \
	{                         \
		.words = { a, b } \
	}
#define WHOLE(a, b)               \
	{                         \
		.whole = { a, b } \
	}
#define NUMBERS(a, b)               \
	{                           \
		.numbers = { a, b } \
	}
#define STRING_LOOKUP "op = \"string_lookup\"; input = \"w\"; " TOWNS
	{ STRING_LOOKUP, WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 1, 2 }, NULL },
	{ STRING_LOOKUP, WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 0, 0 }, NULL },
	{ STRING_LOOKUP "num_oov_indices = 3;", WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 0, 2 }, NULL },
	{ STRING_LOOKUP "num_oov_indices = 3;", WORDS("Rom", "Paris"), EXAMPLE_INT64, 2, { 1, 0 }, NULL },
	{ STRING_LOOKUP "num_oov_indices = 3;", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 3, 4 }, NULL },
	{ STRING_LOOKUP "mask_token = \"\";", WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 1, 0 }, NULL },
	{ STRING_LOOKUP "mask_token = \"\";", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 2, 3 }, NULL },
	{ STRING_LOOKUP "num_oov_indices = 0;", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 0, 1 }, NULL },
	{ STRING_LOOKUP "num_oov_indices = 0;",
	  WORDS("Bonn", "Oslo"),
	  EXAMPLE_INT64,
	  2,
	  { 0 },
	  "\"made\": found \"Oslo\"" },
	{ STRING_LOOKUP "output_mode = \"one_hot\";",
	  WORDS("Köln", "Oslo"),
	  EXAMPLE_FLOAT32,
	  6,
	  { 0, 0, 1, 1, 0, 0 },
	  NULL },
	{ STRING_LOOKUP "output_mode = \"multi_hot\";",
	  WORDS("Bonn", "Oslo"),
	  EXAMPLE_FLOAT32,
	  3,
	  { 1, 1, 0 },
	  NULL },
	{ STRING_LOOKUP "output_mode = \"multi_hot\";",
	  WORDS("Köln", "Köln"),
	  EXAMPLE_FLOAT32,
	  3,
	  { 0, 0, 1 },
	  NULL },
	{ STRING_LOOKUP "output_mode = \"count\";",
	  WORDS("Köln", "Köln"),
	  EXAMPLE_FLOAT32,
	  3,
	  { 0, 0, 2 },
	  NULL },
	{ STRING_LOOKUP "mask_token = \"\"; output_mode = \"multi_hot\";",
	  WORDS("Bonn", ""),
	  EXAMPLE_FLOAT32,
	  3,
	  { 0, 1, 0 },
	  NULL },
#define INTEGER_LOOKUP "op = \"integer_lookup\"; input = \"i\"; vocabulary = [ 5, 7 ]; "
	{ INTEGER_LOOKUP, WHOLE(5, 7), EXAMPLE_INT64, 2, { 1, 2 }, NULL },
	{ INTEGER_LOOKUP, WHOLE(-1, 9), EXAMPLE_INT64, 2, { 0, 0 }, NULL },
	{ INTEGER_LOOKUP "num_oov_indices = 3;", WHOLE(-1, 9), EXAMPLE_INT64, 2, { 2, 0 }, NULL },
	{ INTEGER_LOOKUP "num_oov_indices = 3;", WHOLE(-13, 7), EXAMPLE_INT64, 2, { 2, 4 }, NULL },
	{ INTEGER_LOOKUP "mask_token = -1;", WHOLE(-1, 9), EXAMPLE_INT64, 2, { 0, 1 }, NULL },
	{ INTEGER_LOOKUP "mask_token = -1;", WHOLE(5, 7), EXAMPLE_INT64, 2, { 2, 3 }, NULL },
#define HASHING "op = \"hashing\"; num_bins = 5; input = "
	{ HASHING "\"w\";", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 4, 2 }, NULL },
	{ HASHING "\"w\";", WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 3, 3 }, NULL },
	{ HASHING "\"w\"; mask_value = \"\";", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 2, 3 }, NULL },
	{ HASHING "\"w\"; mask_value = \"\";", WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 3, 0 }, NULL },
	{ HASHING "\"w\"; salt = 133;", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 4, 3 }, NULL },
	{ HASHING "\"w\"; salt = [ 133, 137 ];", WORDS("Bonn", "Köln"), EXAMPLE_INT64, 2, { 4, 1 }, NULL },
	{ HASHING "\"w\"; salt = [ 133, 137 ];", WORDS("Oslo", ""), EXAMPLE_INT64, 2, { 2, 0 }, NULL },
	{ HASHING "\"i\";", WHOLE(5, 7), EXAMPLE_INT64, 2, { 1, 3 }, NULL },
	{ HASHING "\"i\";", WHOLE(-1, -13), EXAMPLE_INT64, 2, { 0, 2 }, NULL },
	{ HASHING "\"i\"; mask_value = -1;", WHOLE(-1, 9), EXAMPLE_INT64, 2, { 0, 2 }, NULL },
	{ HASHING "\"w\"; output_mode = \"one_hot\";",
	  WORDS("Bonn", ""),
	  EXAMPLE_FLOAT32,
	  10,
	  { 0, 0, 0, 0, 1, 0, 0, 0, 1, 0 },
	  NULL },
#define DISCRETIZATION "op = \"discretization\"; bin_boundaries = [ 0.0, 1.5, 10.0 ]; input = "
	{ DISCRETIZATION "\"f\";", NUMBERS(-1, 0), EXAMPLE_INT64, 2, { 0, 1 }, NULL },
	{ DISCRETIZATION "\"f\";", NUMBERS(1.5f, 9.99f), EXAMPLE_INT64, 2, { 2, 2 }, NULL },
	{ DISCRETIZATION "\"f\";", NUMBERS(10, NAN), EXAMPLE_INT64, 2, { 3, 3 }, NULL },
	{ DISCRETIZATION "\"i\";", WHOLE(1, 2), EXAMPLE_INT64, 2, { 1, 2 }, NULL },
	{ DISCRETIZATION "\"f\"; output_mode = \"one_hot\";",
	  NUMBERS(-1, 10),
	  EXAMPLE_FLOAT32,
	  8,
	  { 1, 0, 0, 0, 0, 0, 0, 1 },
	  NULL },
#define CATEGORY_ENCODING "op = \"category_encoding\"; num_tokens = 4; input = \"i\"; "
	{ CATEGORY_ENCODING, WHOLE(0, 1), EXAMPLE_FLOAT32, 4, { 1, 1, 0, 0 }, NULL },
	{ CATEGORY_ENCODING, WHOLE(3, 3), EXAMPLE_FLOAT32, 4, { 0, 0, 0, 1 }, NULL },
	{ CATEGORY_ENCODING "output_mode = \"count\";",
	  WHOLE(3, 3),
	  EXAMPLE_FLOAT32,
	  4,
	  { 0, 0, 0, 2 },
	  NULL },
	{ CATEGORY_ENCODING "output_mode = \"one_hot\";",
	  WHOLE(3, 0),
	  EXAMPLE_FLOAT32,
	  8,
	  { 0, 0, 0, 1, 1, 0, 0, 0 },
	  NULL },
	{ CATEGORY_ENCODING, WHOLE(3, 4), EXAMPLE_FLOAT32, 4, { 0 }, "\"made\": found 4, allowed: 0 .. 3" },
	{ CATEGORY_ENCODING, WHOLE(-1, 3), EXAMPLE_FLOAT32, 4, { 0 }, "\"made\": found -1" },
};

/* A batch of one row. */
struct fixture {
	struct config config;
	struct example_schema schema;
	struct batch_slot batch;
	struct preprocess *preprocess;
	int64_t memory[MADE + 2][16], splits[MADE + 2][2];
};

static void open_rows(struct fixture *fixture, const char *rows)
{
	char text[2048];
	struct error err = { 0 };

	(void)snprintf(text, sizeof(text), STORES SCHEMA "preprocess = ( %s );\n", rows);
	assert_int_equal(load(text, strlen(text), &fixture->config, &err), 0);
	assert_int_equal(batch_schema(&fixture->config, &fixture->schema, &err), 0);
	assert_int_equal(preprocess_open(&fixture->config, &fixture->preprocess, &err), 0);
	fixture->batch.schema = &fixture->schema;
	for (uint32_t i = 0; i < fixture->schema.features; i++) {
		fixture->batch.values[i] = (uint8_t *)fixture->memory[i];
		fixture->batch.row_bytes[i] = batch_row_bytes(&fixture->schema.feature[i]);
		fixture->batch.splits[i] = fixture->schema.feature[i].values_max ? fixture->splits[i] : NULL;
		assert_true(fixture->batch.row_bytes[i] <= sizeof(fixture->memory[i]));
	}
}

static void close_rows(struct fixture *fixture)
{
	preprocess_freep(&fixture->preprocess);
	config_done(&fixture->config);
}

static double made_at(const struct fixture *fixture, uint32_t feature, uint64_t i)
{
	return fixture->schema.feature[feature].dtype == EXAMPLE_INT64
		       ? (double)fixture->memory[feature][i]
		       : (double)((const float *)(const void *)fixture->memory[feature])[i];
}

static void as_keras(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct fixture fixture = { 0 };
		const struct given *given = &cases[n].given;
		char row[512];
		struct error err = { 0 };
		int r;

		print_message("# %s\n", cases[n].row);
		(void)snprintf(row, sizeof(row), "{ name = \"made\"; %s }", cases[n].row);
		open_rows(&fixture, row);
		for (uint64_t i = 0; i < 2; i++)
			assert_true(example_put_bytes(&fixture.schema.feature[W], fixture.memory[W], i,
						      given->words[i] ? given->words[i] : "",
						      given->words[i] ? strlen(given->words[i]) : 0));
		memcpy(fixture.memory[I], given->whole, sizeof(given->whole));
		memcpy(fixture.memory[F], given->numbers, sizeof(given->numbers));
		r = preprocess_row(fixture.preprocess, &fixture.batch, 0, &err);
		assert_int_equal(r, cases[n].refused ? -EBADMSG : 0);
		if (cases[n].refused)
			assert_non_null(strstr(err.text, cases[n].refused));
		assert_int_equal(fixture.schema.feature[MADE].dtype, cases[n].dtype);
		assert_int_equal(fixture.schema.feature[MADE].elements, cases[n].elements);
		for (uint64_t i = 0; r == 0 && i < cases[n].elements; i++)
			assert_true(made_at(&fixture, MADE, i) == cases[n].expected[i]);
		close_rows(&fixture);
	}
}

/* A row may read the feature of an earlier row; what is made of a ragged feature is ragged, or an encoding.
 */
static void chains_and_ragged(void **state)
{
	struct fixture fixture = { 0 };
	struct error err = { 0 };

	(void)state;
	open_rows(&fixture,
		  "{ op = \"integer_lookup\"; name = \"known\"; input = \"r\"; vocabulary = [ 30, 20 ]; },"
		  "{ op = \"category_encoding\"; name = \"bag\"; input = \"known\"; num_tokens = 3; "
		  "output_mode = \"count\"; }");
	fixture.splits[R][1] = 3;
	memcpy(fixture.memory[R], (int64_t[]){ 20, 7, 20 }, 3 * sizeof(int64_t));
	assert_int_equal(preprocess_row(fixture.preprocess, &fixture.batch, 0, &err), 0);
	assert_int_equal(fixture.splits[MADE][1], 3);
	assert_memory_equal(fixture.memory[MADE], ((int64_t[]){ 2, 0, 2 }), 3 * sizeof(int64_t));
	assert_memory_equal(fixture.memory[MADE + 1], ((float[]){ 1, 0, 2 }), 3 * sizeof(float));
	fixture.splits[R][1] = 0;
	assert_int_equal(preprocess_row(fixture.preprocess, &fixture.batch, 0, &err), 0);
	assert_int_equal(fixture.splits[MADE][1], 0);
	assert_memory_equal(fixture.memory[MADE + 1], ((float[]){ 0, 0, 0 }), 3 * sizeof(float));
	close_rows(&fixture);
}

/* A row that nobody reads does not look at its input, which may hold anything. */
static void skips(void **state)
{
	struct fixture fixture = { 0 };
	struct error err = { 0 };

	(void)state;
	open_rows(&fixture,
		  "{ op = \"string_lookup\"; name = \"id\"; input = \"w\"; num_oov_indices = 0; " TOWNS
		  "}, { op = \"integer_lookup\"; name = \"known\"; input = \"r\"; vocabulary = [ 30 ]; }");
	fixture.splits[R][1] = 3;
	assert_true(example_put_bytes(&fixture.schema.feature[W], fixture.memory[W], 0, "Oslo", 4));
	assert_int_equal(preprocess_row(fixture.preprocess, &fixture.batch, 0, &err), -EBADMSG);
	preprocess_skip(fixture.preprocess, MADE);
	preprocess_skip(fixture.preprocess, MADE + 1);
	fixture.memory[MADE][0] = fixture.splits[MADE + 1][1] = 9;
	assert_int_equal(preprocess_row(fixture.preprocess, &fixture.batch, 0, &err), 0);
	assert_int_equal(fixture.memory[MADE][0], 0);
	assert_int_equal(fixture.splits[MADE + 1][1], 0);
	close_rows(&fixture);
}

/* A record has no made feature: the parser does not look for it, and batch_parse() makes it. */
static void parses(void **state)
{
	static const uint8_t record[] = "\x0a\x1f"
					"\x0a\x0d\x0a\x01w\x12\x08\x0a\x06\x0a\x04"
					"Bonn"
					"\x0a\x0e\x0a\x01x\x12\x09\x0a\x07\x0a\x05"
					"other";
	CLEANUP(batch_decoder_freep) struct batch_decoder *decoder = NULL;
	struct fixture fixture = { 0 };
	uint8_t empty;
	struct error err = { 0 };

	(void)state;
	open_rows(&fixture, "{ op = \"string_lookup\"; name = \"id\"; input = \"w\"; " TOWNS "}");
	for (uint32_t i = 0; i < MADE; i++)
		fixture.schema.feature[i].optional = true;
	fixture.schema.feature[W].elements = 1;
	fixture.schema.feature[MADE].elements = 1;
	fixture.batch.empty = &empty;
	assert_int_equal(batch_decoder_new(&fixture.config, &decoder, &err), 0);
	assert_non_null(decoder);
	assert_int_equal(batch_parse(&fixture.batch, decoder, 0, record, sizeof(record) - 1, NULL, &err), 0);
	assert_int_equal(empty, 0);
	assert_int_equal(fixture.memory[MADE][0], 1);
	close_rows(&fixture);
}

static void words_twice(void **state)
{
	static const char text[] =
		STORES SCHEMA "preprocess = ( { op = \"string_lookup\"; name = \"id\"; input = \"w\"; "
			      "vocabulary = [ \"a\", \"b\", \"a\" ]; } );\n";
	CLEANUP(config_done) struct config config = { 0 };
	struct preprocess *preprocess;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(load(text, strlen(text), &config, &err), 0);
	assert_int_equal(preprocess_open(&config, &preprocess, &err), -EINVAL);
	assert_non_null(strstr(err.text, "words 0 and 2 are the same"));
}

/* What kiln.conf may not say, word for word. */
static void refused(void **state)
{
#define ROWS(rows) STORES SCHEMA "preprocess = ( " rows " );"
#define AT         "k.conf:7: preprocess."
	static const struct refusal refusals[] = {
		{ "no vocabulary", ROWS("{ op = \"string_lookup\"; name = \"a\"; input = \"w\"; }"),
		  AT "vocabulary: found nothing, allowed: it must be given" },
		{ "a number among words",
		  ROWS("{ op = \"integer_lookup\"; name = \"a\"; input = \"i\"; vocabulary = [ \"x\" ]; }"),
		  AT "vocabulary: found a list of 1, allowed: [ ] of one or more integers" },
		{ "another op's key",
		  ROWS("{ op = \"hashing\"; name = \"a\"; input = \"w\"; num_tokens = 3; }"),
		  AT "num_tokens: found an unknown key, allowed for hashing: op, name, input, output_mode "
		     "and num_bins "
		     "mask_value salt " },
		{ "no bins", ROWS("{ op = \"hashing\"; name = \"a\"; input = \"w\"; }"),
		  AT "num_bins: found nothing, allowed: 1 or more bins; with mask_value 2 or more" },
		{ "texts for integers",
		  ROWS("{ op = \"integer_lookup\"; name = \"a\"; input = \"w\"; vocabulary = [ 1 ]; }"),
		  AT "input: found \"w\", allowed for integer_lookup: a feature of int64" },
		{ "an unknown input",
		  ROWS("{ op = \"hashing\"; name = \"a\"; input = \"b\"; num_bins = 3; }"),
		  AT "input: found \"b\", allowed for hashing: a feature of the schema or an earlier row" },
		{ "boundaries that fall",
		  ROWS("{ op = \"discretization\"; name = \"a\"; input = \"f\"; bin_boundaries = [ 2.0, 1.0 "
		       "]; }"),
		  AT
		  "bin_boundaries: found a list of 2, allowed: [ ] of one or more numbers, each larger than "
		  "the one before" },
		{ "a name twice", ROWS("{ op = \"hashing\"; name = \"f\"; input = \"w\"; num_bins = 3; }"),
		  AT "name: found \"f\", allowed: a name that no other feature has" },
		{ "a ragged feature with a long name",
		  ROWS("{ op = \"hashing\"; input = \"r\"; num_bins = 3; name = "
		       "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"; }"),
		  AT
		  "name: found \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", allowed for a "
		  "ragged feature: 1 .. 56 bytes" },
		{ "the name of a column",
		  ROWS("{ op = \"hashing\"; name = \"empty\"; input = \"w\"; num_bins = 3; }"),
		  AT "name: found \"empty\", allowed: 1 .. 63 bytes, not \"empty\"" },
	};

	(void)state;
	CHECK_REFUSALS(refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_keras), cmocka_unit_test(chains_and_ragged), cmocka_unit_test(skips),
		cmocka_unit_test(parses),   cmocka_unit_test(words_twice),       cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
