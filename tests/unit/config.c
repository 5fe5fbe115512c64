/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/config_fixture.h"

#include <malloc.h>

/* Reads a value of each kind that differs from the default. */
static void test_values(void **state)
{
	static const char text[] = STORES
		"run: { name = \"a\"; seed = 9007199254740992L; epochs = 0x10; start_from = \"latest\"; };\n"
		"ring: { small_pages = true; };\n"
		"optimizer: { learning_rate = 1; beta_1 = 5e-1; beta_2 = .30000000000000004; "
		"boundaries = [ 5, 70 ]; values = [ 0.5, 1e-3, 0.0 ]; };\n"
		"schema = ( { name = \"x y\"; dtype = \"float32\"; shape = [ 2, 3 ]; missing = \"default\"; "
		"fill = -1; },\n  { name = \"label\"; dtype = \"int64\"; } );\n"
		"model: { input = \"x y\"; layers = (\n"
		"  { op = \"dense\"; name = \"d\"; inputs = [ \"input\" ]; units = 3000000000L; rate = 0.5; "
		"bias = false; init = \"zeros\"; } ); };";
	CLEANUP(config_done) struct config config = { 0 };
	const struct config_layer *layer;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(load(text, strlen(text), &config, &err), 0);
	assert_string_equal(config.source[0].store.url, "file:///a");
	assert_string_equal(config.sink.url, "s3://bkt/c");
	assert_string_equal(config.sink.region, "us-east-1");
	assert_string_equal(config.run.name, "a");
	assert_true(config.run.seed == 1ull << 53);
	assert_true(config.run.epochs == 16);
	assert_int_equal(config.run.start_from, START_LATEST);
	assert_true(config.run.batch_rows == 128);
	assert_true(config.ring.small_pages);
	assert_true(config.optimizer.learning_rate == 1.0);
	assert_true(config.optimizer.beta_1 == 0.5);
	assert_true(config.optimizer.beta_2 == .30000000000000004);
	assert_int_equal(config.optimizer.boundaries.count, 2);
	assert_true(config.optimizer.boundaries.at[0] == 5 && config.optimizer.boundaries.at[1] == 70);
	assert_int_equal(config.optimizer.values.count, 3);
	assert_true(config.optimizer.values.at[0] == 0.5 && config.optimizer.values.at[1] == 1e-3);
	assert_int_equal(config.model.class_weights.count, 0);
	assert_true(config.fetch.memory_bytes == 2147483648u);

	assert_int_equal(config.features, 2);
	assert_string_equal(config.feature[0].name, "x y");
	assert_int_equal(config.feature[0].rank, 2);
	assert_true(config.feature[0].shape[1] == 3);
	assert_int_equal(config.feature[0].missing, 1);
	assert_true(config.feature[0].fill == -1.0);
	assert_int_equal(config.feature[1].dtype, CONFIG_INT64);
	assert_int_equal(config.feature[1].rank, 0);

	assert_int_equal(config.model.layers, 1);
	layer = &config.model.layer[0];
	assert_string_equal(layer->op, "dense");
	assert_string_equal(layer->name, "d");
	assert_string_equal(layer->input[0], "input");
	assert_int_equal(layer->line, 8);
	assert_int_equal(layer->attributes, 4);
	assert_true(layer->attribute[0].i == 3000000000);
	assert_true(layer->attribute[1].type == ATTRIBUTE_FLOAT && layer->attribute[1].f == 0.5);
	assert_true(layer->attribute[2].type == ATTRIBUTE_BOOL && layer->attribute[2].i == 0);
	assert_string_equal(layer->attribute[3].s, "zeros");
}

/* A daemon holds a configuration all the time, and some read it again each second. */
static void test_memory(void **state)
{
	static const char text[] = STORES "model: { layers = ( { op = \"dense\"; units = 2; } ); };";
	CLEANUP(config_done) struct config config = { 0 };
	const struct mallinfo2 before = mallinfo2();
	struct mallinfo2 after;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(load(text, strlen(text), &config, &err), 0);
	after = mallinfo2();
	assert_in_range(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd, 0, 1 << 20);
}

static void test_no_file(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(config_load("none.conf", &config, &err), -ENOENT);
	assert_string_equal(err.text, "none.conf: cannot read it: No such file or directory");
	assert_int_equal(config_load("/", &config, &err), -EINVAL);
	assert_int_equal(config_load("none.conf", &config, NULL), -ENOENT);
}

static void test_path(void **state)
{
	char *with[] = { "kiln-fetchd", "--config", "a.conf", NULL }, *without[] = { "kiln-fetchd", NULL };

	(void)state;
	(void)unsetenv("KILN_CONFIG");
	(void)setenv("KILN_ROOT", "/r", 1);
	assert_string_equal(config_path(1, without), "/r/etc/kiln/kiln.conf");
	(void)setenv("KILN_CONFIG", "b.conf", 1);
	assert_string_equal(config_path(1, without), "b.conf");
	assert_string_equal(config_path(3, with), "a.conf");
	(void)unsetenv("KILN_CONFIG");
	(void)unsetenv("KILN_ROOT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_path),
	};

	return cmocka_run_group_tests_name("config", tests, setup, teardown);
}
