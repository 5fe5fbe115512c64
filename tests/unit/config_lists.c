/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config_fixture.h"

static void test_schema(void **state)
{
	static const struct refusal cases[] = {
		{ "no list", STORES "schema = 5;",
		  "k.conf:2: schema: found 5, allowed: a list ( ) of 1 .. 1024 features" },
		{ "an empty list", STORES "schema = ( );",
		  "k.conf:2: schema: found a list of 0, allowed: a list ( ) of 1 .. 1024 features" },
		{ "no group", STORES "schema = ( 3 );",
		  "k.conf:2: schema: found an integer, allowed: groups { ... }" },
		{ "a feature's keys", STORES "schema = ( {\n name = \"a\"; type = \"b\"; } );",
		  "k.conf:3: schema.type: found an unknown key, allowed: name, dtype, missing, fill, "
		  "padding, values_max, bytes_max, overflow, interpolation, antialias, fit, random_crop, "
		  "orientation, scaled_decode, pixels_max, shape; did you mean \"dtype\"?\n"
		  "k.conf:2: schema.dtype: found nothing, it must be given" },
		{ "a size of nothing",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 2, 0 ]; } );",
		  "k.conf:2: schema.shape: found 0, allowed: sizes from 1, 268435456 together" },
		{ "sizes that overflow together",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 65536, 65536 ]; } );",
		  "k.conf:2: schema.shape: found 65536, allowed: sizes from 1, 268435456 together" },
		{ "a size that is no integer",
		  STORES "schema = ( { name = \"a\"; dtype = \"bytes\"; shape = [ 1.5 ]; } );",
		  "k.conf:2: schema.shape: found 1.5, allowed: sizes from 1, 268435456 together" },
		{ "the ring's own column", STORES "schema = ( " FEATURE("empty", "bytes") " );",
		  "k.conf:2: schema.name: found \"empty\", allowed: 1 .. 63 bytes, not \"empty\"" },
		{ "int64s filled with what is none",
		  STORES "schema = ( " FEATURE(
			  "sentence",
			  "float32") ",\n"
				     "{ name = \"label\"; dtype = \"int64\"; fill = 0.5; },\n"
				     "{ name = \"a\"; fill = 1e30; dtype = \"int64\"; },\n"
				     "{ name = \"b\"; fill = -9007199254740993L; dtype = \"int64\"; },\n"
				     "{ name = \"c\"; fill = -9007199254740991L; dtype = \"int64\"; },\n"
				     "{ name = \"d\"; fill = 0.5; dtype = \"float32\"; } );",
		  "k.conf:3: schema.fill: found 0.5, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991\n"
		  "k.conf:4: schema.fill: found 1e+30, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991\n"
		  "k.conf:5: schema.fill: found -9007199254740993, allowed with dtype \"int64\": an integer, "
		  "-9007199254740991 .. 9007199254740991" },
		{ "a feature twice",
		  STORES "schema = ( " FEATURE("sentence", "float32") ",\n" FEATURE(
			  "label", "int64") ","
					    "\n" FEATURE("label", "int64") " );",
		  "k.conf:2: schema.name: found \"label\" twice, allowed: once" },
		{ "an input that is no feature", STORES "model: {\n input = \"text\"; };",
		  "k.conf:3: model.input: found \"text\", allowed: a float32, int64, uint8 or picture "
		  "feature of `schema`" },
		{ "a label of the wrong type", STORES "model: { label = \"nope\"; };",
		  "k.conf:2: model.label: found \"nope\", allowed: an int64 or float32 feature of `schema`" },

		{ "cross checks behind another mistake",
		  STORES "run: { seeed = 3; };\nmodel: { input = \"nope\"; };",
		  "k.conf:2: run.seeed: found an unknown key, allowed: the keys of `kiln config reference`; "
		  "did you mean \"run.seed\"?\n"
		  "k.conf:3: model.input: found \"nope\", allowed: a float32, int64, uint8 or picture "
		  "feature of `schema`" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_ragged_schema(void **state)
{
	static const struct refusal cases[] = {
		{ "a ragged feature with what fixed ones have",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label",
			  "int64") ",\n{ name = \"a\"; dtype = \"bytes\"; values_max = 5; },\n"
				   "{ name = \"b\"; dtype = \"int64\"; values_max = 5; shape = [ 2 ];\n"
				   "missing = \"default\"; } );",
		  "k.conf:3: schema.values_max: found 5, allowed with dtype \"bytes\": 0\n"
		  "k.conf:4: schema.shape: found 1 sizes, allowed beside values_max: [ ]\n"
		  "k.conf:5: schema.missing: found \"default\", allowed beside values_max: no `missing`, "
		  "because a record without the feature has no values" },
		{ "a ragged feature whose columns' names are too long",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label", "int64") ",\n{ name = "
					    "\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee1234567\"; "
					    "dtype = \"int64\"; values_max = 5; } );",
		  "k.conf:3: schema.name: found "
		  "\"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee1234567\", "
		  "allowed for a ragged feature: 1 .. 56 bytes" },
		{ "a ragged label",
		  STORES "schema = ( " FEATURE(
			  "sentence",
			  "float32") ", { name = \"label\"; dtype = \"int64\"; values_max = 9; } );",
		  "k.conf:1: model.label: found \"label\", which is ragged, allowed: an int64 or float32 "
		  "feature of a "
		  "fixed "
		  "shape" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_padded_schema(void **state)
{
	static const struct refusal cases[] = {
		{ "a padded feature with what others have",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label", "int64") ",\n{ name = \"a\"; dtype = \"uint8\"; padding = \"post\"; shape "
					    "= [ 3 ]; },\n"
					    "{ name = \"b\"; dtype = \"int64\"; values_max = 5; padding = "
					    "\"pre\"; },\n"
					    "{ name = \"c\"; dtype = \"int64\"; padding = \"post\"; shape = "
					    "[ 3, 2 ];\n"
					    "missing = \"default\"; } );",
		  "k.conf:3: schema.padding: found \"post\", allowed with dtype \"uint8\": \"none\"\n"
		  "k.conf:4: schema.values_max: found 5, allowed beside padding: 0, because `shape` says how "
		  "many values a row has\n"
		  "k.conf:5: schema.shape: found 2 sizes, allowed beside padding: [ length ]\n"
		  "k.conf:6: schema.missing: found \"default\", allowed beside padding: no `missing`, "
		  "because a record without the feature has no values" },
		{ "an unknown padding",
		  STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE(
			  "label", "int64") ",\n{ name = \"a\"; dtype = \"int64\"; padding = \"left\"; } );",
		  "k.conf:3: schema.padding: found \"left\", allowed: one of \"none\", \"post\", \"pre\"" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_pictures(void **state)
{
#define PICTURE(keys)                                                     \
	STORES "schema = ( " FEATURE("sentence", "float32") ", " FEATURE( \
		"label", "int64") ", { name = \"p\"; dtype = \"picture\";\n" keys " } );"
	static const struct refusal cases[] = {
		{ "a picture without a shape", PICTURE(""),
		  "k.conf:2: schema.shape: allowed with dtype \"picture\": [ height, width, channels ], 1 .. "
		  "8192 "
		  "pixels high and wide, 1 or 3 channels" },
		{ "two channels", PICTURE("shape = [ 8, 8, 2 ];"),
		  "k.conf:3: schema.shape: allowed with dtype \"picture\": [ height, width, channels ], 1 .. "
		  "8192 "
		  "pixels high and wide, 1 or 3 channels" },
		{ "a default", PICTURE("shape = [ 8, 8, 3 ]; missing = \"default\";"),
		  "k.conf:3: schema.missing: found \"default\", allowed with dtype \"picture\": \"error\"" },
		{ "random places of nothing", PICTURE("shape = [ 8, 8, 3 ]; random_crop = true;"),
		  "k.conf:3: schema.random_crop: found true, allowed: with fit = \"crop\"" },
		{ "values_max", PICTURE("values_max = 3;"),
		  "k.conf:2: schema.shape: allowed with dtype \"picture\": [ height, width, channels ], 1 .. "
		  "8192 "
		  "pixels high and wide, 1 or 3 channels\n"
		  "k.conf:3: schema.values_max: found 3, allowed with dtype \"picture\": 0" },
		{ "a filter of numbers",
		  STORES "schema = ( { name = \"sentence\"; dtype = \"uint8\"; shape = [ 4 ]; fill = 256;\n"
			 "fit = \"crop\"; }, " FEATURE("label", "int64") " );",
		  "k.conf:2: schema.fill: found 256, allowed with dtype \"uint8\": an integer, 0 .. 255\n"
		  "k.conf:3: schema.fit: found it with dtype \"uint8\", allowed: with dtype \"picture\"" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
#undef PICTURE
}

static void test_sources(void **state)
{
	static const struct refusal cases[] = {
		{ "beside the group", STORES "sources = ( { url = \"file:///b\"; } );",
		  "k.conf:2: sources: found beside source, allowed: one of them" },
		{ "an empty list", SINK "sources = ( );",
		  "k.conf:2: sources: found a list of 0, allowed: a list ( ) of 1 .. 32 sources" },
		{ "no group", SINK "sources = ( \"file:///a\" );",
		  "k.conf:2: sources: found a string, allowed: groups { ... }" },
		{ "its keys",
		  SINK
		  "sources = ( {\n weight = 0.0; glob = \"*\"; }, { url = \"b\"; weight = 4294967296; } );",
		  "k.conf:3: sources.weight: found 0.0, allowed: a number, 1e-06 .. 1e+06\n"
		  "k.conf:3: sources.glob: found an unknown key, allowed: url, endpoint, region, credential, "
		  "ca_file, url_style, http2, presign, weight, train_glob, validation_glob, test_glob\n"
		  "k.conf:2: sources.url: found nothing, it must be given\n"
		  "k.conf:3: sources.url: found \"b\", allowed: s3://bucket[/prefix], file:///folder or "
		  "lakefs://repository/branch[/prefix]; a "
		  "bucket has 3 .. 255 characters of [A-Za-z0-9._-]\n"
		  "k.conf:3: sources.weight: found 4294967296, allowed: a number, 1e-06 .. 1e+06" },
		{ "more lanes than places",
		  SINK "order: { lanes = 12; };\n"
		       "sources = ( { url = \"file:///a\"; }, { url = \"file:///b\"; }, { url = "
		       "\"file:///c\"; } );",
		  "k.conf:2: order.lanes: found 12, allowed with 3 sources: 1 .. 10" },
		{ "more lanes than rows", STORES "order: { lanes = 6; };\nrun: { batch_rows = 5; };",
		  "k.conf:2: order.lanes: found 6, allowed: at most run.batch_rows, 5" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(STORES, sizeof(STORES) - 1, &config, &err), 0);
	assert_int_equal(config.sources, 1);
	assert_true(config.source[0].weight == 1);
	assert_string_equal(config.source[0].train_glob, "train-*");
	config_done(&config);
#define TWO                                                                                                  \
	SINK "split: { train_glob = \"t*\"; };\nsources = ( { url = \"file:///a\"; weight = 2.5; "           \
	     "test_glob = \"\"; }, { url = \"s3://bkt/b\"; endpoint = \"http://h:1\"; train_glob = \"u*\"; " \
	     "} );"
	assert_int_equal(load(TWO, sizeof(TWO) - 1, &config, &err), 0);
	assert_int_equal(config.sources, 2);
	assert_true(config.source[0].weight == 2.5 && config.source[1].weight == 1);
	assert_string_equal(config.source[0].train_glob, "t*");
	assert_string_equal(config.source[0].test_glob, "");
	assert_string_equal(config.source[0].store.endpoint, "");
	assert_string_equal(config.source[1].store.url, "s3://bkt/b");
	assert_string_equal(config.source[1].store.region, "us-east-1");
	assert_string_equal(config.source[1].train_glob, "u*");
	assert_string_equal(config.source[1].test_glob, "test-*");
}

static void test_layers(void **state)
{
	static const struct refusal cases[] = {
		{ "a layer without op", STORES LAYERS "{ units = 2; } ); };",
		  "k.conf:3: model.layers.op: found nothing, it must be given" },
		{ "a layer's name", STORES LAYERS "{ op = \"relu\"; name = \"a b\"; } ); };",
		  "k.conf:3: model.layers.name: found \"a b\", allowed: 1 .. 64 characters of "
		  "[A-Za-z0-9_-]" },
		{ "an attribute of another kind", STORES LAYERS "{ op = \"relu\"; x = ( ); } ); };",
		  "k.conf:3: model.layers.x: found a list, allowed: a number, truth value, string or [ ] of "
		  "numbers" },
		{ "inputs that are no names", STORES LAYERS "{ op = \"relu\"; inputs = [ 3 ]; } ); };",
		  "k.conf:3: model.layers.inputs: found a list of 1, allowed: [ ] of 1 .. 1024 layer names" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema),        cmocka_unit_test(test_ragged_schema),
		cmocka_unit_test(test_padded_schema), cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_sources),       cmocka_unit_test(test_layers),
	};

	return cmocka_run_group_tests_name("config_lists", tests, setup, teardown);
}
