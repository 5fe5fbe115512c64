/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how lines of JSON become rows, and how the outputs of a network become answers. */
#include "cli/trained/answer.h"
#include "core/base/paths.h"
#include "scratch.h"
#include "trained/features.h"
#include "trained/lines.h"
#include "trained/locate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- Features: float "x" of 2 x 2, int64 "id", a ragged int64 "words" of at most 3, "unread" and bytes
 * "text" of 2 values of at most 4 bytes ---- */

#define ROWS 2u

struct fixture {
	struct config config;
	struct columns columns;
	float x[ROWS * 4];
	int64_t id[ROWS], words[ROWS * 3], splits[ROWS + 1];
	float unread[ROWS];
	uint8_t text[ROWS * 16];
};

static void make(struct fixture *fixture)
{
	struct columns *columns = &fixture->columns;
	static const char *const names[] = { "x", "id", "words", "unread", "text" };

	*fixture = (struct fixture){ .config = { .features = 5 } };
	for (uint32_t i = 0; i < 5; i++)
		fixture->config.feature[i].name = names[i];
	columns->schema = (struct example_schema){
		.features = 5,
		.feature = { { .name = "x", .dtype = EXAMPLE_FLOAT32, .elements = 4 },
			     { .name = "id",
			       .dtype = EXAMPLE_INT64,
			       .elements = 1,
			       .optional = true,
			       .fill = -1 },
			     { .name = "words", .dtype = EXAMPLE_INT64, .values_max = 3 },
			     { .name = "unread", .dtype = EXAMPLE_FLOAT32, .elements = 1 },
			     { .name = "text",
			       .dtype = EXAMPLE_BYTES,
			       .elements = 2,
			       .bytes_max = 4,
			       .optional = true } },
	};
	columns->batch = (struct batch_slot){
		.schema = &columns->schema,
		.values = { (uint8_t *)fixture->x, (uint8_t *)fixture->id, (uint8_t *)fixture->words,
			    (uint8_t *)fixture->unread, fixture->text },
		.splits = { NULL, NULL, fixture->splits, NULL, NULL },
		.row_bytes = { 4 * sizeof(float), sizeof(int64_t), 3 * sizeof(int64_t), sizeof(float), 16 },
	};
	columns->config = &fixture->config;
	columns->inputs = 4;
	columns->input[0] = fixture->x;
	columns->input[1] = fixture->id;
	columns->input[2] = fixture->words;
	columns->input[3] = fixture->text;
}

static int add(struct fixture *fixture, const char *text, uint32_t row, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;

	assert_int_equal(json_parse("line", text, strlen(text), &object, NULL), 0);
	return features_add(&fixture->columns, &fixture->config, object, row, err);
}

static void test_features(void **state)
{
	static const char first[] =
		"{\"x\": [[1, 2], [3, 4.5]], \"id\": 7, \"words\": [5, 6], \"unread\": 1}",
			  second[] = "{\"x\": [1, 2, 3, 4], \"words\": \"9007199254740993\"}";
	struct fixture fixture;
	struct error err = { 0 };

	(void)state;
	make(&fixture);
	assert_int_equal(add(&fixture, first, 0, &err), 0);
	assert_int_equal(add(&fixture, second, 1, &err), 0);
	assert_true(fixture.x[3] == 4.5F && fixture.x[4] == 1.0F);
	assert_int_equal(fixture.id[0], 7);
	assert_int_equal(fixture.id[1], -1);
	assert_int_equal(fixture.splits[1], 2);
	assert_int_equal(fixture.splits[2], 1);
	assert_int_equal(fixture.words[1], 6);
	assert_int_equal(fixture.words[3], INT64_C(9007199254740993));
	assert_true(fixture.unread[0] == 0);
}

static void test_bad_features(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "{\"x\": [1, 2, 3], \"words\": []}", "\"x\": found 3 numbers, expected 4" },
		{ "{\"x\": [1, 2, 3, \"4\"], \"words\": []}", "\"x\": found \"4\" as value 3" },
		{ "{\"x\": [1, 2, 3, 1e39], \"words\": []}", "expected a number in the range of float32" },
		{ "{\"x\": [1, 2, 3, 4], \"id\": 1.5}", "\"id\": found 1.5 as value 0, expected an integer" },
		{ "{\"x\": [1, 2, 3, 4], \"words\": [1, 2, 3, 4]}", "found 4 numbers, expected at most 3" },
		{ "{\"words\": [1]}", "\"x\": found nothing, expected 4 numbers" },
		{ "{\"y\": 1}", "found \"y\", allowed: \"x\", \"id\", \"words\", \"unread\", \"text\"" },
		{ "{\"x\": [1, 2, 3, 4], \"text\": [\"abcd\", \"abcde\"]}",
		  "\"text\": found a string of 5 bytes as value 1, expected at most 4 (bytes_max)" },
		{ "{\"x\": [1, 2, 3, 4], \"text\": [\"a\"]}", "\"text\": found 1 values, expected 2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture fixture;
		struct error err = { 0 };

		make(&fixture);
		assert_int_equal(add(&fixture, cases[i].text, 0, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].words))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].words);
	}
}

/* ---- Lines ---- */

static void test_lines(void **state)
{
	CLEANUP(lines_done) struct lines lines = { 0 };
	CLEANUP(json_free) cJSON *object = NULL;
	struct error err = { 0 };
	char path[128];
	FILE *file;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/lines", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("{\"a\":1}\n\n[1]\nlast", file);
	assert_int_equal(fclose(file), 0);
	assert_non_null(freopen(path, "r", stdin));

	assert_true(lines_next(&lines));
	assert_int_equal(lines_object(&lines, &object, &err), 0);
	lines.again = true;
	assert_true(lines_next(&lines));
	assert_int_equal(lines.number, 1);
	assert_true(lines_next(&lines));
	assert_int_equal(lines.bytes, 0);
	assert_true(lines_next(&lines));
	cJSON_Delete(TAKE(object));
	assert_int_equal(lines_object(&lines, &object, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "line 3: found no object"));
	assert_true(lines_next(&lines));
	assert_string_equal(lines.text, "last");
	assert_false(lines_next(&lines));
}

/* ---- Answers ---- */

static char *answer_text(const struct answers *answers, const float *output)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	struct error err = { 0 };

	assert_int_equal(answer_json(answers, output, object, &err), 0);
	return cJSON_PrintUnformatted(object);
}

static void test_answers(void **state)
{
	static const char dataset_text[] = "{\"classes\": [\"neg\", \"pos\"]}";
	CLEANUP(json_free) cJSON *dataset = NULL;
	const struct config classes = { .model = { .loss = "categorical_crossentropy" } },
			    numbers = { .model = { .loss = "huber" } };
	struct answers answers;

	(void)state;
	assert_int_equal(json_parse("dataset", dataset_text, strlen(dataset_text), &dataset, NULL), 0);
	{
		CLEANUP(free_ptr) char *text = NULL;

		answers = answers_of(&classes, 3);
		text = answer_text(&answers, (const float[]){ 0.25F, 0.5F, 0.5F });
		assert_string_equal(text,
				    "{\"class\":1,\"label\":\"1\",\"probability\":0.5,\"probabilities\":"
				    "{\"0\":0.25,\"1\":0.5,\"2\":0.5}}");
	}
	{
		CLEANUP(free_ptr) char *text = NULL;

		answers = answers_of(&classes, 1);
		answers.dataset = dataset;
		text = answer_text(&answers, (const float[]){ 0.75F });
		assert_string_equal(text, "{\"class\":1,\"label\":\"positive\",\"probability\":0.75,"
					  "\"probabilities\":{\"negative\":0.25,\"positive\":0.75}}");
	}
	{
		CLEANUP(free_ptr) char *text = NULL;

		answers = answers_of(&numbers, 2);
		text = answer_text(&answers, (const float[]){ 1.5F, -2 });
		assert_string_equal(text, "{\"values\":[1.5,-2]}");
	}
	answers = answers_of(&numbers, 1);
	assert_int_equal(answer_json(&answers, (const float[]){ NAN }, dataset, NULL), -EDOM);
	assert_int_equal(answer_print(&answers, (const float[]){ NAN }, "text", NULL), -EDOM);
	answers = answers_of(&classes, 2);
	assert_int_equal(answer_print(&answers, (const float[]){ 1, INFINITY }, "text", NULL), -EDOM);
}

/* ---- The model's file ---- */

/* Nobody has 4 TiB of memory for it. */
static void test_large_model(void **state)
{
	CLEANUP(store_closep) struct store *folder = NULL;
	CLEANUP(free_ptr) char *data = NULL;
	const struct config_store where = { .url = "" };
	char path[PATH_BYTES];
	struct error err = { 0 };
	uint64_t bytes;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/model.safetensors", root);
	assert_int_equal(file_write_durable(path, "1234", 4, &err), 0);
	assert_int_equal(locate_model(path, &where, &folder, &data, &bytes, &err), 0);
	assert_int_equal(bytes, 4);
	free(TAKE(data));
	if (truncate(path, (off_t)1 << 42) < 0) /* a file system with smaller files */
		skip();
	assert_int_equal(locate_model(path, &where, &folder, &data, &bytes, &err), -ENOMEM);
	assert_non_null(
		strstr(err.text, "model.safetensors: 4398046511104 bytes, at most half of the available"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),    cmocka_unit_test(test_bad_features),
		cmocka_unit_test(test_lines),       cmocka_unit_test(test_answers),
		cmocka_unit_test(test_large_model),
	};

	return cmocka_run_group_tests_name("cli_trained", tests, scratch_setup, scratch_teardown);
}
