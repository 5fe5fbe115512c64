/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that run.start changes for one run only. */
#include "oneshot/begin/overrides.c" // NOLINT(bugprone-suspicious-include): not of a library
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char conf[] = "/tmp/kiln-overrides-XXXXXX";

static void write_next(const char *text)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	struct error err;

	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, folder), &err), 0);
	assert_int_equal(file_write_durable(path_of(PATH_RUNS, "next.json", path), text, strlen(text), &err),
			 0);
}

static const struct {
	const char *label, *list;
	int code;
	const char *words; /* words that the configuration's text contains, or the error */
} cases[] = {
	{ "epochs", "{\"run.epochs\": 7}", 0, "epochs = 7" },
	{ "a seed", "{\"run.seed\": 11}", 0, "seed = 11" },
	{ "the last run's weights", "{\"run.start_from\": \"latest\"}", 0, "start_from = \"latest\"" },
	{ "from scratch", "{\"run.start_from\": \"scratch\"}", 0, "start_from = \"scratch\"" },
	{ "none", "{}", 0, "epochs = 3" },
	{ "keys of a trial", "{\"optimizer.name\": \"sgd\", \"model.layers.dense_1.units\": 77}", 0,
	  "{ op = \"dense\"; units = 77; }" },
	{ "the series is left out", "{\"run.epochs\": 7}", 0, "seed = 44" },
	{ "a key that cannot be overridden", "{\"run.name\": \"x\"}", -EINVAL,
	  "run.name: found it in a trial" },
	{ "a text for a number", "{\"run.epochs\": \"many\"}", -EINVAL,
	  "run.epochs: found \"many\", allowed: an integer, 1 .. 1000000" },
	{ "beyond the bounds", "{\"run.epochs\": 0}", -EINVAL, "run.epochs: found 0, allowed" },
};

static void check_print(size_t i)
{
	CLEANUP(json_free) cJSON *list = cJSON_Parse(cases[i].list);
	CLEANUP(free_ptr) char *text = NULL;
	struct error err = { 0 };
	int r = overrides_print(conf, list, &text, &err);

	if (r != cases[i].code || !strstr(r < 0 ? err.text : text, cases[i].words) ||
	    (r == 0 && strstr(text, "vary")))
		fail_msg("%s: found %d, %s", cases[i].label, r, r < 0 ? err.text : text);
}

static void test_print(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_print(i);
}

/* Without overrides the file itself is used; with overrides a copy beside the records. */
static void test_apply(void **state)
{
	CLEANUP(json_free) cJSON *list = cJSON_Parse("{\"run.epochs\": 7}");
	CLEANUP(config_done) struct config config = { 0 }, plain = { 0 }, changed = { 0 };
	char path[PATH_BYTES], folder[PATH_BYTES];
	const char *file = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(path_make(path_of(PATH_RUNS, NULL, folder), &err), 0);
	assert_int_equal(overrides_apply(conf, NULL, path, &file, &plain, &err), 0);
	assert_ptr_equal(file, conf);
	assert_int_not_equal(plain.run.epochs, 7);
	assert_int_equal(overrides_apply(conf, list, path, &file, &changed, &err), 0);
	assert_ptr_equal(file, path);
	assert_int_equal(changed.run.epochs, 7);
	assert_string_equal(changed.file, conf);
	if (config_load(file, &config, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(config.run.epochs, 7);
}

static void test_asked(void **state)
{
	CLEANUP(json_free) cJSON *list = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	assert_int_equal(overrides_asked(&list, &err), 0);
	assert_null(list);
	assert_int_equal(overrides_adopt(id, &err), 0);
	assert_string_equal(id, "");
	write_next("{\"overrides\": {\"run.seed\": 4}, \"adopt\": \"night-20270327-220000\"}");
	assert_int_equal(overrides_asked(&list, &err), 0);
	assert_int_equal(cJSON_GetObjectItem(list, "run.seed")->valueint, 4);
	assert_int_equal(overrides_adopt(id, &err), 0);
	assert_string_equal(id, "night-20270327-220000");
}

static void test_damaged(void **state)
{
	CLEANUP(json_free) cJSON *list = NULL;
	char id[RUN_ID_BYTES];
	struct error err = { 0 };

	(void)state;
	write_next("{\"overrides\": ");
	assert_int_equal(overrides_asked(&list, &err), -EBADMSG);
	assert_int_equal(overrides_adopt(id, &err), -EBADMSG);
	write_next("{\"adopt\": 5}");
	assert_int_equal(overrides_adopt(id, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "adopt"));
}

/* The overrides are for one run: the next one has none. */
static void test_done(void **state)
{
	char path[PATH_BYTES];
	struct error err = { 0 };

	(void)state;
	write_next("{}");
	assert_int_equal(overrides_done(NULL, &err), 0);
	assert_int_equal(access(path_of(PATH_RUNS, "next.json", path), F_OK), -1);
}

static int write_conf(void **state)
{
	static const char text[] = "source: { url = \"file:///s\"; }; sink: { url = \"file:///o\"; };\n"
				   "run: { name = \"t\"; epochs = 3; };\n"
				   "vary: { run: { seed = [ 1, 2 ]; }; };\n";
	int fd = mkstemp(conf);

	(void)state;
	return fd < 0 || write(fd, text, sizeof(text) - 1) < 0 || close(fd) < 0;
}

static int remove_conf(void **state)
{
	(void)state;
	return unlink(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_print, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_apply, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_asked, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_damaged, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_done, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, write_conf, remove_conf);
}
