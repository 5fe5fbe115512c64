/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose settings are not those of the configuration is refused, whichever setting differs. */
#include "data/plan_config.h"

#include "core/base/paths.h"
#include "data/order.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char path[PATH_BYTES];

static const struct config config = { .run = { .epochs = 5, .seed = 44, .batch_rows = 128 },
				      .sources = 2,
				      .source = { { .weight = 1 }, { .weight = 0.5 } },
				      .order = { .mode = ORDER_FAST,
						 .window_shards = 4,
						 .lanes = 2,
						 .remainder = REMAINDER_DROP,
						 .filter = "label == 1",
						 .skip_rows = 7,
						 .take_rows = 900 } };

static int check(const struct plan_settings *settings, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	struct plan_shard shard = { .key = "a", .etag = "e", .version = "", .bytes = 7 };
	struct plan_writer *writer;

	(void)snprintf(path, sizeof(path), "%s/plan", root);
	assert_int_equal(plan_create(path, settings, &writer, NULL), 0);
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &shard, NULL), 0);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, err), 0);
	return plan_check_config(plan, path, &config, err);
}

static void its_own_plan_is_good(void **state)
{
	struct plan_settings settings = plan_settings_for(&config);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(settings.batch_rows, 128);
	assert_int_equal(settings.order_version, ORDER_VERSION);
	assert_string_equal(settings.filter, "label == 1");
	assert_true(settings.weight[1] == 0.5 && settings.weight[2] == 0);
	assert_int_equal(check(&settings, &err), 0);
}

/* The objects of a plan of objects are loaded by a number of their own; the plan of the other format is
 * refused, either way. */
static void objects_have_their_own_order(void **state)
{
	struct config objects = config;
	struct plan_settings settings, shards = plan_settings_for(&config);
	CLEANUP(plan_closep) struct plan *plan = NULL;
	struct plan_shard shard = { .key = "a/b", .etag = "e", .version = "", .bytes = 7 };
	struct plan_writer *writer;
	struct error err = { 0 };

	(void)state;
	objects.source[0].format = FORMAT_OBJECTS;
	objects.sources = 1;
	objects.order.mode = ORDER_EXACT;
	objects.order.filter = "";
	settings = plan_settings_for(&objects);
	assert_int_equal(settings.order_version, ORDER_OBJECTS);
	assert_int_equal(settings.window_shards, PLAN_WINDOW_OBJECTS);
	assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
	assert_int_equal(plan_add(writer, SPLIT_TRAIN, &shard, NULL), 0);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, &err), 0);
	assert_int_equal(plan_check_config(plan, path, &objects, &err), 0);
	assert_int_equal(plan_check_config(plan, path, &config, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "source.format: version of the order: found 2, expected 1"));
	plan_close(TAKE(plan));
	assert_int_equal(plan_create(path, &shards, &writer, NULL), 0);
	assert_int_equal(plan_finish(writer, NULL), 0);
	assert_int_equal(plan_open(path, &plan, &err), 0);
	assert_int_equal(plan_check_config(plan, path, &objects, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "source.format: version of the order: found 1, expected 2"));
}

#define AT(member) offsetof(struct plan_settings, member)
static const struct {
	const char *label;
	size_t at, bytes;
	const void *value;
	const char *words;
} cases[] = {
	{ "batch", AT(batch_rows), 8, &(uint64_t){ 65536 }, "run.batch_rows: found 65536, expected 128:" },
	{ "window", AT(window_shards), 8, &(uint64_t){ UINT64_C(1) << 63 },
	  "order.window_shards: found 9223372036854775808, expected 4:" },
	{ "epochs", AT(epochs), 8, &(uint64_t){ UINT64_MAX },
	  "run.epochs: found 18446744073709551615, expected 5:" },
	{ "seed", AT(seed), 8, &(uint64_t){ 45 }, "run.seed: found 45, expected 44:" },
	{ "skip", AT(skip_rows), 8, &(uint64_t){ 8 }, "order.skip_rows: found 8, expected 7:" },
	{ "take", AT(take_rows), 8, &(uint64_t){ 0 }, "order.take_rows: found 0, expected 900:" },
	{ "lanes", AT(lanes), 4, &(uint32_t){ 1 }, "order.lanes: found 1, expected 2:" },
	{ "sources", AT(sources), 4, &(uint32_t){ 1 }, "sources: found 1, expected 2:" },
	{ "remainder", AT(remainder), 4, &(uint32_t){ REMAINDER_KEEP },
	  "order.remainder: found 0, expected 1:" },
	{ "mode", AT(mode), 4, &(uint32_t){ ORDER_EXACT }, "order.mode: found 0, expected 1:" },
	{ "weight", AT(weight), 8, &(double){ 0.25 }, "weight of source 0: found 0.25, expected 1:" },
	{ "weight of none", AT(weight) + 8 * 31, 8, &(double){ 1 }, "an unused byte is not 0:" },
	{ "reserved", AT(reserved), 4, &(uint32_t){ 1 }, "an unused byte is not 0:" },
	{ "no filter", AT(filter), 1, "", "order.filter: found \"\", expected \"label == 1\":" },
	{ "filter", AT(filter) + 9, 1, "2", "order.filter: found \"label == 2\", expected \"label == 1\":" },
	{ "behind the filter", AT(filter) + 30, 1, "x", "an unused byte is not 0:" },
};

static void every_other_setting_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plan_settings settings = plan_settings_for(&config);
		struct error err = { 0 };
		int r;

		memcpy((uint8_t *)&settings + cases[i].at, cases[i].value, cases[i].bytes);
		r = check(&settings, &err);
		if (r != -EBADMSG || !strstr(err.text, cases[i].words))
			fail_msg("%s: %d %s", cases[i].label, r, err.text);
	}
}

/* No byte of the settings goes unlooked at: each one, changed alone, is refused. */
static void every_byte_counts(void **state)
{
	const struct plan_settings good = plan_settings_for(&config);

	(void)state;
	for (size_t at = AT(lanes); at < sizeof(good); at++) {
		CLEANUP(plan_closep) struct plan *plan = NULL;
		struct plan_settings settings = good;
		struct plan_writer *writer;

		((uint8_t *)&settings)[at] ^= 1;
		assert_int_equal(plan_create(path, &settings, &writer, NULL), 0);
		assert_int_equal(plan_finish(writer, NULL), 0);
		if (plan_open(path, &plan, NULL) == 0)
			assert_int_equal(plan_check_config(plan, path, &config, NULL), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_plan_is_good),
		cmocka_unit_test(objects_have_their_own_order),
		cmocka_unit_test(every_other_setting_is_refused),
		cmocka_unit_test(every_byte_counts),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
