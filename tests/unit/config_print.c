/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"
#include "core/config/config_keys.h"
#include "model/build.h"
#include "tests/unit/config_fixture.h"

#include <glob.h>

static char *text_of(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 65536);

	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, 65535, in) > 0);
	(void)fclose(in);
	return text;
}

static char *shown(const char *path)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct error err = { 0 };

	assert_non_null(out);
	if (config_show(path, out, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void remove_marks(char *text)
{
	static const char mark[] = " # default";

	for (char *at = text; (at = strstr(at, mark));)
		memmove(at, at + strlen(mark), strlen(at + strlen(mark)) + 1);
}

static void test_reference_is_the_file(void **state)
{
	CLEANUP(free_ptr) char *file = NULL, *text = NULL;
	char path[PATH_MAX + 32];
	struct error err = { 0 };
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/config/kiln.conf", repository);
	file = text_of(path);
	assert_non_null(out);
	assert_int_equal(config_reference(out, &err), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, file);
}

/* The reference configuration sets every key to its default, except split.by, so it is shown like a file with
 * that key alone; only the marks of defaults differ. */
static void test_reference_gives_the_defaults(void **state)
{
	static const char minimal[] = "source: { url = \"file:///data/kiln/store/data\"; };\n"
				      "sink: { url = \"file:///data/kiln/store/runs\"; };\n"
				      "split: { by = \"hash\"; };\n";
	CLEANUP(free_ptr) char *full = NULL, *least = NULL;
	char path[PATH_MAX + 32];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/config/kiln.conf", repository);
	write_file("k.conf", minimal, strlen(minimal));
	full = shown(path);
	least = shown("k.conf");
	assert_null(strstr(full, "# default"));
	assert_non_null(strstr(least, "  epochs = 5; # default\n"));
	assert_non_null(strstr(least, "  url = \"file:///data/kiln/store/data\";\n"));
	remove_marks(least);
	assert_string_equal(least, full);
}

/* The shown text loads again as the same configuration. */
static void check_shown(const char *path)
{
	CLEANUP(free_ptr) char *first = shown(path), *second = NULL;

	write_file("shown.conf", first, strlen(first));
	second = shown("shown.conf");
	remove_marks(first);
	assert_string_equal(second, first);
}

static void test_examples(void **state)
{
	char pattern[PATH_MAX + 32];
	glob_t examples;

	(void)state;
	(void)snprintf(pattern, sizeof(pattern), "%s/config/examples/*.conf", repository);
	assert_int_equal(glob(pattern, 0, NULL, &examples), 0);
	assert_true(examples.gl_pathc >= 3);
	for (size_t i = 0; i < examples.gl_pathc; i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		struct graph graph;

		if (config_load(examples.gl_pathv[i], &config, &err) < 0 ||
		    graph_build(&config, true, &graph, &err) < 0)
			fail_msg("%s", err.text);
		graph_done(&graph);
		check_shown(examples.gl_pathv[i]);
	}
	globfree(&examples);
}

static void test_odd_values_are_shown_as_they_are(void **state)
{
	static const char text[] = STORES
		"run: { seed = 9007199254740992L; };\n"
		"split: { train_glob = \"a\\\"b\\\\c \xc3\xbc*\"; };\n"
		"optimizer: { learning_rate = 0.1; epsilon = 1e-30; momentum = 0.30000000000000004; "
		"values = [ 1e-9, 0.30000000000000004 ]; };\n"
		"model: { layers = ( { op = \"dense\"; inputs = [ \"a\\\\\", \"b\" ]; units = -3000000000L; "
		"rate = 1e22; factor = [ -0.25, 0.1 ]; size = [ 3, -4 ]; name = \"x\"; on = true; s = "
		"\"\\\"\"; } ); };";

	(void)state;
	write_file("k.conf", text, strlen(text));
	check_shown("k.conf");
}

static void test_show_json(void **state)
{
	static const char text[] = STORES "run: { epochs = 7; };";
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *printed = NULL;
	struct error err = { 0 };

	(void)state;
	write_file("k.conf", text, strlen(text));
	assert_int_equal(config_show_json("k.conf", &printed, &err), 0);
	assert_int_equal(json_parse("shown", printed, strlen(printed), &json, &err), 0);
	for (size_t i = 0; i < config_keys_count; i++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, config_keys[i].name);
		bool given = strcmp(config_keys[i].name, "run.epochs") == 0 || !config_keys[i].fallback;

		assert_non_null(cJSON_GetObjectItemCaseSensitive(item, "value"));
		assert_int_equal(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(item, "default")), given);
	}
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "schema")), 2);
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "layers")), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_is_the_file),
		cmocka_unit_test(test_reference_gives_the_defaults),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_odd_values_are_shown_as_they_are),
		cmocka_unit_test(test_show_json),
	};

	return cmocka_run_group_tests_name("config_print", tests, setup, teardown);
}
