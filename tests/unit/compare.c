/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a series side by side, and what two runs differ in. */
#include "core/series/compared.h"
#include "core/series/difference.h"
#include "core/series/settings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CONFIG(optimizer, layers)                                                                 \
	"run: { name = \"t\"; epochs = 3; batch_rows = 8; }; source: { url = \"file:///d\"; };\n" \
	"sink: { url = \"file:///s\"; }; optimizer: { " optimizer " };\n"                         \
	"schema = ( { name = \"x\"; dtype = \"float32\"; shape = [ 4 ]; }, "                      \
	"{ name = \"y\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"                                \
	"model: { input = \"x\"; label = \"y\"; layers = ( " layers " ); };\n"
#define DENSE(units) "{ op = \"dense\"; units = " units "; }, { op = \"relu\"; }, "
#define END          "{ op = \"dense\"; units = 2; }, { op = \"softmax\"; name = \"end\"; }"

static cJSON *settings(const char *text)
{
	cJSON *found = NULL;
	struct error err = { 0 };

	if (settings_of(text, &found, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

static void expect_text(const cJSON *value, const char *expected)
{
	CLEANUP(free_ptr) char *text = setting_text(value);

	assert_string_equal(text, expected);
}

static void expect_json(const cJSON *json, const char *expected)
{
	CLEANUP(free_ptr) char *text = cJSON_PrintUnformatted(json);

	assert_string_equal(text, expected);
}

/* ---- Settings ---- */

static void test_settings(void **state)
{
	CLEANUP(json_free) cJSON *found = settings(CONFIG("learning_rate = 0.01;", DENSE("16") END));
	struct error err = { 0 };
	cJSON *none = NULL;

	(void)state;
	expect_text(cJSON_GetObjectItem(found, "optimizer.learning_rate"), "0.01");
	expect_text(cJSON_GetObjectItem(found, "optimizer.name"), "adam");
	expect_text(cJSON_GetObjectItem(found, "run.ends_at"), "\"\"");
	expect_text(cJSON_GetObjectItem(found, "model.layers"), "[dense, relu, dense_1, end]");
	expect_text(cJSON_GetObjectItem(found, "model.layers.dense.units"), "16");
	expect_text(cJSON_GetObjectItem(found, "model.layers.dense_1.units"), "2");
	expect_text(cJSON_GetObjectItem(found, "model.layers.end.op"), "softmax");
	expect_text(cJSON_GetObjectItem(found, "schema.x.shape"), "[4]");
	expect_text(NULL, "-");
	assert_int_equal(settings_of("run: {", &none, &err), -EINVAL);
	assert_null(none);
}

static void test_settings_differ(void **state)
{
	CLEANUP(json_free)
	cJSON *a = settings(CONFIG("learning_rate = 0.01;", DENSE("16") END)),
	      *b = settings(CONFIG("name = \"sgd\"; learning_rate = 0.01;", END)),
	      *list = settings_differ(a, b), *same = settings_differ(a, a);

	(void)state;
	expect_json(same, "[]");
	expect_json(list, "[{\"key\":\"optimizer.name\",\"a\":\"adam\",\"b\":\"sgd\"},"
			  "{\"key\":\"model.layers\",\"a\":[\"dense\",\"relu\",\"dense_1\",\"end\"],"
			  "\"b\":[\"dense\",\"end\"]},"
			  "{\"key\":\"model.layers.dense.units\",\"a\":16,\"b\":2},"
			  "{\"key\":\"model.layers.relu.op\",\"a\":\"relu\",\"b\":null},"
			  "{\"key\":\"model.layers.dense_1.op\",\"a\":\"dense\",\"b\":null},"
			  "{\"key\":\"model.layers.dense_1.units\",\"a\":2,\"b\":null}]");
}

/* ---- A series ---- */

/* Returns a series of four trials; `direction`: of the objective. */
static cJSON *series_of(const char *objective, const char *direction)
{
	static const char trials[] =
		"[{\"name\":\"base\",\"overrides\":{},\"value\":0.5,\"summary\":{\"test_loss\":1}},"
		"{\"name\":\"sgd\",\"overrides\":{\"optimizer.name\":\"sgd\",\"run.epochs\":3},\"value\":0."
		"75},"
		"{\"name\":\"none\",\"overrides\":{\"model.layers.dense.units\":64,\"run.epochs\":3},"
		"\"value\":null},"
		"{\"name\":\"same\",\"overrides\":{\"optimizer.name\":\"adam\"},\"value\":0.5}]";
	cJSON *series = cJSON_CreateObject();

	cJSON_AddStringToObject(series, "objective", objective);
	cJSON_AddStringToObject(series, "direction", direction);
	cJSON_AddStringToObject(series, "winner", "sgd");
	cJSON_AddStringToObject(series, "config", CONFIG("learning_rate = 0.01;", DENSE("16") END));
	assert_true(cJSON_AddItemToObject(series, "trials", cJSON_Parse(trials)));
	compared_prepare(series);
	assert_null(cJSON_GetObjectItem(series, "config"));
	json_visible(series);
	return series;
}

static void expect_order(const struct compared *compared, const char *expected)
{
	char names[128] = "";

	for (uint32_t i = 0; i < compared->trials; i++) {
		strcat(names, i ? " " : "");
		strcat(names, cJSON_GetStringValue(cJSON_GetObjectItem(compared->trial[i], "name")));
	}
	assert_string_equal(names, expected);
}

static void test_compared(void **state)
{
	CLEANUP(json_free) cJSON *series = series_of("validation.accuracy", "max");
	CLEANUP(compared_done) struct compared compared = { 0 };
	char text[COMPARED_WORDS_BYTES];

	(void)state;
	assert_int_equal(compared_make(series, &compared, NULL), 0);
	expect_order(&compared, "sgd base same none");
	assert_int_equal(compared.keys, 2); /* run.epochs is 3 in every trial */
	assert_string_equal(compared.key[0], "optimizer.name");
	assert_string_equal(compared.key[1], "model.layers.dense.units");
	expect_text(compared_setting(&compared, compared.trial[0], compared.key[0]), "sgd");
	expect_text(compared_setting(&compared, compared.trial[1], compared.key[0]), "adam");
	expect_text(compared_setting(&compared, compared.trial[1], compared.key[1]), "16");
	assert_true(compared_is_winner(&compared, compared.trial[0]));
	assert_false(compared_is_winner(&compared, compared.trial[1]));
	assert_true(isnan(compared_value(compared.trial[3])));
	assert_string_equal(compared_objective(series, text), "validation accuracy");
	assert_string_equal(compared_test(series), "test_loss");
	assert_true(compared_is_share(series));
}

static void test_compared_minimum(void **state)
{
	CLEANUP(json_free) cJSON *series = series_of("validation.loss", "min");
	CLEANUP(compared_done) struct compared compared = { 0 };

	(void)state;
	assert_int_equal(compared_make(series, &compared, NULL), 0);
	expect_order(&compared, "base same sgd none");
	assert_false(compared_is_share(series));
}

/* A record may be damaged, and its configuration of another version. */
static void test_compared_wrong(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"[]",
		"{\"trials\":5,\"config\":7}",
		"{\"trials\":[5,null,\"a\",{\"overrides\":[1],\"value\":\"a\"}],\"winner\":3,\"objective\":{}"
		"}",
		"{\"config\":\"run: { no_key = 1; };\",\"trials\":[{\"name\":\"a\",\"overrides\":{\"k\":1}},"
		"{\"name\":\"b\",\"overrides\":{\"k\":[{}]}}]}",
	};
	char text[COMPARED_WORDS_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CLEANUP(json_free) cJSON *series = cJSON_Parse(wrong[i]);
		CLEANUP(compared_done) struct compared compared = { 0 };

		assert_non_null(series);
		compared_prepare(series);
		assert_int_equal(compared_make(series, &compared, NULL), 0);
		(void)compared_objective(series, text);
		for (uint32_t row = 0; row < compared.trials; row++)
			for (uint32_t key = 0; key < compared.keys; key++) {
				CLEANUP(free_ptr)
				char *value = setting_text(
					compared_setting(&compared, compared.trial[row], compared.key[key]));

				assert_non_null(value);
			}
		assert_int_equal(compared.keys, i == 4);
	}
}

/* ---- Two runs ---- */

static cJSON *run_of(const char *config, const char *epochs)
{
	cJSON *record =
		cJSON_Parse("{\"id\":\"t-1\",\"state\":\"finished\",\"kiln_version\":\"0.1.0\","
			    "\"device\":\"a\",\"seed\":44,\"series\":{\"id\":\"s\",\"trial\":\"adam\"}}");

	cJSON_AddStringToObject(record, "config", config);
	assert_true(cJSON_AddItemToObject(record, "epochs", cJSON_Parse(epochs)));
	return record;
}

static cJSON *differ(const char *epochs_a, const char *epochs_b)
{
	CLEANUP(json_free)
	cJSON *a = run_of(CONFIG("", END), epochs_a), *b = run_of(CONFIG("name = \"sgd\";", END), epochs_b);
	cJSON *found;

	cJSON_DeleteItemFromObject(b, "series");
	cJSON_ReplaceItemInObject(b, "device", cJSON_CreateString("b"));
	found = difference_of(a, b);
	assert_non_null(found);
	return found;
}

static void test_difference(void **state)
{
	CLEANUP(json_free) cJSON *found = differ("[{\"epoch\":0,\"loss\":1}]", "[{\"epoch\":0,\"loss\":1}]");

	(void)state;
	expect_json(json_member(found, "a"), "{\"id\":\"t-1\",\"series\":\"s\",\"trial\":\"adam\"}");
	expect_json(json_member(found, "b"), "{\"id\":\"t-1\",\"series\":null,\"trial\":null}");
	expect_json(json_member(found, "settings"),
		    "[{\"key\":\"optimizer.name\",\"a\":\"adam\",\"b\":\"sgd\"}]");
	expect_json(json_member(found, "facts.device"), "{\"a\":\"a\",\"b\":\"b\",\"same\":false}");
	expect_json(json_member(found, "facts.version"), "{\"a\":\"0.1.0\",\"b\":\"0.1.0\",\"same\":true}");
	expect_json(json_member(found, "facts.plan"), "{\"a\":null,\"b\":null,\"same\":true}");
	expect_json(json_member(found, "figures"), "[{\"key\":\"state\",\"a\":\"finished\",\"b\":"
						   "\"finished\"},{\"key\":\"epochs\",\"a\":1,\"b\":1},"
						   "{\"key\":\"loss\",\"a\":1,\"b\":1}]");
}

static const struct {
	const char *label, *a, *b, *parts;
	int compared;
} curves[] = {
	{ "the same", "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":2}]",
	  "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":2}]", "null", 2 },
	{ "one is shorter", "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":2}]",
	  "[{\"epoch\":0,\"loss\":1}]", "null", 1 },
	{ "the second epoch", "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":2}]",
	  "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":3}]",
	  "{\"epoch\":2,\"figure\":\"loss\",\"a\":2,\"b\":3}", 2 },
	{ "a figure of the validation",
	  "[{\"epoch\":0,\"loss\":1,\"validation_accuracy\":0.5},{\"epoch\":1,\"loss\":9}]",
	  "[{\"epoch\":0,\"loss\":1,\"validation_accuracy\":0.75}]",
	  "{\"epoch\":1,\"figure\":\"validation_accuracy\",\"a\":0.5,\"b\":0.75}", 1 },
	{ "the last bit of a double", "[{\"epoch\":0,\"loss\":1}]",
	  "[{\"epoch\":0,\"loss\":1.0000000000000002}]", "{\"epoch\":1,\"figure\":\"loss\",\"a\":1,\"b\":1}",
	  1 }, /* as cJSON prints it */
	{ "a validation that is not done yet", "[{\"epoch\":0,\"loss\":1,\"validation_loss\":2}]",
	  "[{\"epoch\":0,\"loss\":1}]", "null", 1 },
	{ "not all epochs", "[{\"epoch\":0,\"loss\":1},{\"epoch\":2,\"loss\":2},{\"epoch\":4,\"loss\":2}]",
	  "[{\"epoch\":0,\"loss\":1},{\"epoch\":1,\"loss\":5},{\"epoch\":4,\"loss\":3}]",
	  "{\"epoch\":5,\"figure\":\"loss\",\"a\":2,\"b\":3}", 2 },
	{ "no epochs", "[]", "[{\"epoch\":0,\"loss\":1}]", "null", 0 },
	{ "other types", "[5,{\"epoch\":\"a\",\"loss\":\"b\"}]", "{\"x\":[]}", "null", 1 },
};

static void test_curves(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		CLEANUP(json_free) cJSON *found = differ(curves[i].a, curves[i].b);
		CLEANUP(free_ptr) char *parts = cJSON_PrintUnformatted(json_member(found, "parts"));

		if (strcmp(parts, curves[i].parts) != 0 ||
		    (int)json_member(found, "compared")->valuedouble != curves[i].compared)
			fail_msg("%s: found %s, %.0f compared", curves[i].label, parts,
				 json_member(found, "compared")->valuedouble);
	}
}

#define EPOCH(number, figure, value) "{\"epoch\":" #number ",\"" figure "\":" #value "}"
#define ACCURACY(number, value)      EPOCH(number, "validation_accuracy", value)
#define LOSS(number, value)          EPOCH(number, "validation_loss", value)

static const struct {
	const char *label, *config, *a, *b, *gap, *ahead;
} races[] = {
	{ "b overtakes a", "", "[" ACCURACY(0, 0.5) "," ACCURACY(1, 0.625) "," ACCURACY(2, 0.75) "]",
	  "[" ACCURACY(0, 0.25) "," ACCURACY(1, 0.75) "," ACCURACY(2, 0.875) "]",
	  "{\"epoch\":1,\"figure\":\"validation_accuracy\",\"a\":0.5,\"b\":0.25}",
	  "{\"epoch\":2,\"run\":\"b\"}" },
	{ "a lower loss is better", "", "[" LOSS(0, 3) "," LOSS(1, 1) "]", "[" LOSS(0, 2) "," LOSS(1, 5) "]",
	  "{\"epoch\":2,\"figure\":\"validation_loss\",\"a\":1,\"b\":5}", "{\"epoch\":2,\"run\":\"a\"}" },
	{ "the objective of the configuration", "promote: { objective = \"train.loss\"; };",
	  "[{\"epoch\":0,\"loss\":1,\"validation_accuracy\":1}]",
	  "[{\"epoch\":0,\"loss\":2,\"validation_accuracy\":2}]",
	  "{\"epoch\":1,\"figure\":\"loss\",\"a\":1,\"b\":2}", "{\"epoch\":1,\"run\":\"a\"}" },
	{ "its direction", "promote: { objective = \"train.loss\"; direction = \"max\"; };",
	  "[" EPOCH(0, "loss", 1) "]", "[" EPOCH(0, "loss", 2) "]",
	  "{\"epoch\":1,\"figure\":\"loss\",\"a\":1,\"b\":2}", "{\"epoch\":1,\"run\":\"b\"}" },
	{ "the same", "", "[" ACCURACY(0, 0.5) "]", "[" ACCURACY(0, 0.5) "]", "null", "null" },
	{ "the same at the end", "", "[" ACCURACY(0, 0.5) "," ACCURACY(1, 1) "]",
	  "[" ACCURACY(0, 0.25) "," ACCURACY(1, 1) "]",
	  "{\"epoch\":1,\"figure\":\"validation_accuracy\",\"a\":0.5,\"b\":0.25}", "null" },
	{ "an epoch without a figure", "",
	  "[" ACCURACY(0, 0.5) "," ACCURACY(1, null) "," ACCURACY(2, 0.75) "]",
	  "[" ACCURACY(0, 0.25) "," ACCURACY(1, 1) "," ACCURACY(2, 0.5) "]",
	  "{\"epoch\":1,\"figure\":\"validation_accuracy\",\"a\":0.5,\"b\":0.25}",
	  "{\"epoch\":1,\"run\":\"a\"}" },
	{ "no figure that both have", "", "[" ACCURACY(0, 0.5) "]", "[" LOSS(0, 1) "]", "null", "null" },
};

static void test_races(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++) {
		char config[4096];

		(void)snprintf(config, sizeof(config), "%s%s", CONFIG("", END), races[i].config);
		CLEANUP(json_free) cJSON *a = run_of(config, races[i].a), *b = run_of(config, races[i].b);
		CLEANUP(json_free) cJSON *found = difference_of(a, b);
		CLEANUP(free_ptr) char *gap = cJSON_PrintUnformatted(json_member(found, "gap"));
		CLEANUP(free_ptr) char *ahead = cJSON_PrintUnformatted(json_member(found, "ahead"));

		if (strcmp(gap, races[i].gap) != 0 || strcmp(ahead, races[i].ahead) != 0)
			fail_msg("%s: found %s, %s", races[i].label, gap, ahead);
	}
}

static void test_unread(void **state)
{
	CLEANUP(json_free)
	cJSON *a = run_of(CONFIG("", END), "[]"), *b = run_of("run: { no_such_key = 1; };", "[]"),
	      *found = difference_of(a, b);

	(void)state;
	expect_json(json_member(found, "settings"), "null");
	assert_non_null(strstr(cJSON_GetStringValue(json_member(found, "unread")), "no_such_key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings),       cmocka_unit_test(test_settings_differ),
		cmocka_unit_test(test_compared),       cmocka_unit_test(test_compared_minimum),
		cmocka_unit_test(test_compared_wrong), cmocka_unit_test(test_difference),
		cmocka_unit_test(test_curves),         cmocka_unit_test(test_races),
		cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
