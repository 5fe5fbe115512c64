/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a file: lists, grids, draws, mistakes; a trial as a configuration of its own. */
#include "core/series/trials.h"
#include "core/base/json.h"
#include "core/config/config_keys.h"
#include "model/build.h"
#include "model/learn/objective.h"
#include "tests/unit/config_fixture.h"

#include <math.h>

#define VARY "vary = { optimizer = { learning_rate = { min = 1e-4; max = 1e-1; scale = \"log\"; }; }; };\n"

static int make(const char *text, struct trials *ret, struct error *err)
{
	write_file("k.conf", text, strlen(text));
	return trials_make("k.conf", ret, err);
}

static void must_make(const char *text, struct trials *ret)
{
	struct error err = { 0 };

	if (make(text, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* Compares the trials with a text: a line "NAME {overrides}" for each. */
static void check_trials(const char *text, const char *expected)
{
	CLEANUP(trials_done) struct trials trials = { 0 };
	CLEANUP(free_ptr) char *found = NULL;
	size_t bytes;
	FILE *out = open_memstream(&found, &bytes);

	assert_non_null(out);
	must_make(text, &trials);
	for (uint32_t i = 0; i < trials.count; i++) {
		CLEANUP(free_ptr) char *json = cJSON_PrintUnformatted(trials.trial[i].overrides);

		fprintf(out, "%s %s\n", trials.trial[i].name, json);
	}
	assert_int_equal(fclose(out), 0);
	assert_string_equal(found, expected);
}

static void test_lists(void **state)
{
	(void)state;
	check_trials(STORES "", "");
	check_trials(
		STORES
		"experiments = ( { name = \"adam\"; overrides = { optimizer = { name = \"adam\"; "
		"learning_rate = 1e-3; }; }; },\n"
		" { name = \"as_it_is\"; },\n"
		" { name = \"wide\"; overrides = { run = { epochs = 3; }; model = { layers = { dense_1 = { "
		"units = 512; } } } }; },\n"
		" { name = \"other\"; overrides = { model = { layers = ( { op = \"dense\"; units = 2; }, { "
		"op "
		"= \"softmax\"; } ); class_weights = [ 1.5, 2.0 ]; } }; } );\n",
		"adam {\"optimizer.name\":\"adam\",\"optimizer.learning_rate\":0.001}\n"
		"as_it_is {}\n"
		"wide {\"run.epochs\":3,\"model.layers.dense_1.units\":512}\n"
		"other {\"model.layers\":[{\"op\":\"dense\",\"units\":2},{\"op\":\"softmax\"}],"
		"\"model.class_weights\":[1.5,2]}\n");
}

/* The last key changes fastest; the trials of the list come first. */
static void test_grid(void **state)
{
	(void)state;
	check_trials(STORES "experiments = ( { name = \"long\"; overrides = { run = { epochs = 9; } } } );\n"
			    "vary = { optimizer = { name = [ \"adam\", \"sgd\" ]; };\n"
			    " model = { layers = { dense_1 = { units = [ 8, 16, 32 ]; } } }; };\n",
		     "long {\"run.epochs\":9}\n"
		     "grid-01 {\"optimizer.name\":\"adam\",\"model.layers.dense_1.units\":8}\n"
		     "grid-02 {\"optimizer.name\":\"adam\",\"model.layers.dense_1.units\":16}\n"
		     "grid-03 {\"optimizer.name\":\"adam\",\"model.layers.dense_1.units\":32}\n"
		     "grid-04 {\"optimizer.name\":\"sgd\",\"model.layers.dense_1.units\":8}\n"
		     "grid-05 {\"optimizer.name\":\"sgd\",\"model.layers.dense_1.units\":16}\n"
		     "grid-06 {\"optimizer.name\":\"sgd\",\"model.layers.dense_1.units\":32}\n");
	/* A list in parentheses holds values that are lists. */
	check_trials(STORES
		     "optimizer = { schedule = \"step\"; boundaries = [ 10 ]; values = [ 0.1, 0.2 ]; };\n"
		     "vary = { optimizer = { values = ( [ 0.1, 0.01 ], [ 0.2, 0.02 ] ); }; };\n",
		     "grid-01 {\"optimizer.values\":[0.1,0.01]}\n"
		     "grid-02 {\"optimizer.values\":[0.2,0.02]}\n");
}

static double number(const struct trials *trials, uint32_t index, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(trials->trial[index].overrides, key);

	assert_true(cJSON_IsNumber(item));
	return item->valuedouble;
}

/* The same file gives the same trials, another seed gives others; ints are whole, both ends are met, and a
 * log range fills each power of ten. */
static void test_random(void **state)
{
	static const char form[] = STORES
		"run = { seed = %d; };\n"
		"series = { method = \"random\"; trials = 300; };\n"
		"vary = { optimizer = { learning_rate = { min = 1e-4; max = 1e-1; scale = \"log\"; }; };\n"
		" model = { layers = { dense = { units = { min = 1; max = 4; }; }; dropout = { rate = { min "
		"= "
		"0.1; max = 0.5; } } } }; run = { batch_rows = { min = 8; max = 512; scale = \"log\" } } "
		"};\n";
	CLEANUP(trials_done) struct trials one = { 0 }, two = { 0 }, other = { 0 };
	char text[1024];
	unsigned decade[3] = { 0 }, units[5] = { 0 }, differ = 0;

	(void)state;
	(void)snprintf(text, sizeof(text), form, 44);
	must_make(text, &one);
	must_make(text, &two);
	(void)snprintf(text, sizeof(text), form, 45);
	must_make(text, &other);
	assert_int_equal(one.count, 300);
	assert_string_equal(one.method, "random");
	assert_int_equal(one.seed, 44);
	assert_string_equal(one.trial[0].name, "random-001");
	for (uint32_t i = 0; i < one.count; i++) {
		const double rate = number(&one, i, "optimizer.learning_rate"),
			     wide = number(&one, i, "model.layers.dense.units"),
			     drop = number(&one, i, "model.layers.dropout.rate");

		assert_true(cJSON_Compare(one.trial[i].overrides, two.trial[i].overrides, true));
		differ += !cJSON_Compare(one.trial[i].overrides, other.trial[i].overrides, true);
		assert_true(rate >= 1e-4 && rate <= 1e-1 && drop >= 0.1 && drop <= 0.5);
		assert_true(wide == floor(wide) && wide >= 1 && wide <= 4);
		decade[(int)(log10(rate) + 4)]++;
		units[(int)wide]++;
	}
	assert_int_equal(differ, 300);
	for (int i = 0; i < 3; i++)
		assert_true(decade[i] > 70);
	for (int i = 1; i <= 4; i++)
		assert_true(units[i] > 50);
}

/* The draws are part of the contract: a file gives the same trials after an update of Kiln. */
static void test_draws_are_fixed(void **state)
{
	(void)state;
	check_trials(
		STORES
		"series = { method = \"random\"; trials = 2; };\n"
		"vary = { optimizer = { name = [ \"adam\", \"sgd\" ]; learning_rate = { min = 1e-4; max "
		"= 1e-1; scale = \"log\"; }; }; run = { epochs = { min = 1; max = 9 } } };\n",
		"random-01 "
		"{\"optimizer.name\":\"sgd\",\"optimizer.learning_rate\":0.00499877,\"run.epochs\":4}\n"
		"random-02 "
		"{\"optimizer.name\":\"sgd\",\"optimizer.learning_rate\":0.00121538,\"run.epochs\":4}\n");
}

/* As many draws as there are combinations give each of them once. */
static void test_all_of_a_small_space(void **state)
{
	CLEANUP(trials_done) struct trials trials = { 0 };
	unsigned seen[24] = { 0 };

	(void)state;
	must_make(STORES "series = { method = \"halving\"; trials = 24; };\n"
			 "vary = { run = { epochs = { min = 1; max = 8; }; seed = [ 5, 6, 7 ]; } };\n",
		  &trials);
	assert_int_equal(trials.count, 24);
	assert_string_equal(trials.method, "halving");
	for (uint32_t i = 0; i < 24; i++)
		seen[(int)number(&trials, i, "run.epochs") * 3 - 3 + (int)number(&trials, i, "run.seed") -
		     5]++;
	for (uint32_t i = 0; i < 24; i++)
		assert_int_equal(seen[i], 1);
}

/* Every combination, but not in the order of a grid, and the same order each time. */
static void test_drawn_order(void **state)
{
	unsigned seen[24] = { 0 }, in_place = 0;
	double order[24];

	(void)state;
	for (int time = 0; time < 2; time++) {
		CLEANUP(trials_done) struct trials trials = { 0 };

		must_make(STORES "series = { method = \"halving\"; };\n"
				 "vary = { run = { epochs = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, "
				 "15, 16, 17, 18, 19, 20, 21, 22, 23, 24 ]; } };\n",
			  &trials);
		assert_int_equal(trials.count, 24);
		for (uint32_t i = 0; i < 24; i++) {
			const double epochs = number(&trials, i, "run.epochs");

			seen[(int)epochs - 1]++;
			in_place += epochs == i + 1;
			assert_true(time == 0 || epochs == order[i]);
			order[i] = epochs;
		}
	}
	for (uint32_t i = 0; i < 24; i++)
		assert_int_equal(seen[i], 2);
	assert_true(in_place < 24);
}

/* ---- Mistakes ---- */

static const struct refusal refusals[] = {
	{ "a value out of bounds",
	  STORES
	  "experiments = (\n { name = \"a\"; overrides = { optimizer = {\n learning_rate = -1.0; } } } );\n",
	  "k.conf:4: trial \"a\": optimizer.learning_rate: found -1.0, allowed: a number, 0 .. 1e+06" },
	{ "a wrong type",
	  STORES "experiments = ( { name = \"a\"; overrides = { run = { epochs = 3.0; } } } );\n",
	  "k.conf:2: trial \"a\": run.epochs: found 3.0, allowed: an integer, 1 .. 1000000" },
	{ "an unknown key",
	  STORES "experiments = ( { name = \"a\"; overrides = { optimizer = { learning_rat = 1.0; } } } );\n",
	  "k.conf:2: trial \"a\": optimizer.learning_rat: found an unknown key, allowed: the keys of `kiln "
	  "config "
	  "reference`; did you mean \"optimizer.learning_rate\"?" },
	{ "an unknown group",
	  STORES "experiments = ( { name = \"a\"; overrides = { optimzer = { x = 1.0; } } } );\n",
	  "k.conf:2: trial \"a\": optimzer: found an unknown group, allowed: the groups of `kiln config "
	  "reference`; "
	  "did you mean \"optimizer\"?" },
	{ "no layer of this name",
	  STORES "experiments = ( { name = \"a\"; overrides = { model = { layers = { dense_9 = { units = 3; "
		 "} } } } } );\n",
	  "k.conf:2: trial \"a\": model.layers.dense_9.units: found no layer \"dense_9\", allowed: a layer "
	  "of "
	  "model.layers by its name, such as dense or dense_1; did you mean \"dense_1\"?" },
	{ "keys of the box",
	  STORES
	  "experiments = ( { name = \"a\"; overrides = { sink = { url = \"file:///x\"; }; run = { name = "
	  "\"x\"; } } } );\n",
	  "k.conf:2: sink.url: found it in a trial, allowed: outside of trials, because it belongs to the "
	  "box or to "
	  "the series\n"
	  "k.conf:2: run.name: found it in a trial, allowed: outside of trials, because it belongs to the "
	  "box or to "
	  "the series" },
	{ "no key", STORES "experiments = ( { name = \"a\"; overrides = { epochs = 3; } } );\n",
	  "k.conf:2: epochs: found an unknown key, allowed: GROUP.KEY, model.layers.LAYER.ATTRIBUTE, "
	  "model.layers, "
	  "schema, sources" },
	{ "no name, an unknown member",
	  STORES "experiments = ( { nme = \"a\"; overrides = { run = { epochs = 3; } } } );\n",
	  "k.conf:2: experiments.nme: found an unknown key, allowed: name, overrides; did you mean "
	  "\"name\"?\n"
	  "k.conf:2: experiments.name: found nothing, it must be given" },
	{ "a wrong name", STORES "experiments = ( { name = \"a b\"; } );\n",
	  "k.conf:2: experiments.name: found \"a b\", allowed: 1 .. 64 characters of [A-Za-z0-9_-]" },
	{ "two of a name",
	  STORES
	  "experiments = ( { name = \"a\"; },\n { name = \"a\"; overrides = { run = { epochs = 3; } } } );\n",
	  "k.conf:3: experiments.name: found \"a\" twice, allowed: once, and another name than those of the "
	  "trials of "
	  "`vary`" },
	{ "two of a configuration",
	  STORES
	  "experiments = ( { name = \"a\"; },\n { name = \"b\"; overrides = { run = { epochs = 5; } } } );\n",
	  "k.conf:3: trial \"b\": found the configuration of trial \"a\", allowed: another one in every "
	  "trial" },
	{ "no list", STORES "experiments = 3;\n",
	  "k.conf:2: experiments: found 3, allowed: a list ( ) of 1 .. 1000 trials" },
	{ "an empty list", STORES "experiments = ( );\n",
	  "k.conf:2: experiments: found a list of 0, allowed: a list ( ) of 1 .. 1000 trials" },
	{ "nothing varies", STORES "vary = { };\n", "k.conf:2: vary: found no key, allowed: at least one" },
	{ "an empty grid", STORES "vary = { run = {\n epochs = [ ]; } };\n",
	  "k.conf:3: vary.run.epochs: found a list of 0, allowed: 1 .. 1000 values" },
	{ "one value", STORES "vary = { run = { epochs = 3; } };\n",
	  "k.conf:2: vary.run.epochs: found 3, allowed: a list of values, [ 1, 2 ], or a range, { min = 1; "
	  "max = 2; "
	  "}" },
	{ "a value twice", STORES "vary = { run = { epochs = [ 3, 4, 3 ]; } };\n",
	  "k.conf:2: vary.run.epochs: found 3 twice, allowed: once" },
	{ "a wrong value of many combinations",
	  STORES "vary = { run = { seed = [ 1, 2, 3 ];\n epochs = [ 0, 1 ]; } };\n",
	  "k.conf:3: trial \"grid-01\": run.epochs: found 0, allowed: an integer, 1 .. 1000000" },
	{ "a range in a grid", STORES VARY,
	  "k.conf:2: vary: found a range, allowed with series.method = \"grid\": lists of values" },
	{ "a range without a number of trials", STORES VARY "series = { method = \"random\"; };\n",
	  "k.conf:3: series.trials: found 0, allowed where `vary` has a range: 1 .. 1000" },
	{ "trials of a grid", STORES "vary = { run = { epochs = [ 3, 4 ]; } };\nseries = { trials = 3; };\n",
	  "k.conf:3: series.trials: found 3, allowed with series.method = \"grid\": 0, because a grid has "
	  "every "
	  "combination" },
	{ "trials without vary", STORES "experiments = ( { name = \"a\"; } );\nseries = { trials = 3; };\n",
	  "k.conf:3: series.trials: found 3, allowed without `vary`: 0" },
	{ "more than there are",
	  STORES "vary = { run = { epochs = [ 3, 4 ]; } };\nseries = { method = \"random\"; trials = 3; };\n",
	  "k.conf:3: series.trials: found 3, allowed: at most 2, the combinations of `vary`" },
	{ "too large a grid",
	  STORES
	  "experiments = ( { name = \"a\"; } );\n"
	  "vary = { run = { seed = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ]; epochs = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, "
	  "10 ]; batch_rows = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ]; } };\n",
	  "k.conf:3: vary: found 1000 trials beside 1 of `experiments`, allowed: 1000 together" },
	{ "ends that are not ascending",
	  STORES "series = { method = \"random\"; trials = 3; };\nvary = { run = { epochs = { min = 3; max = "
		 "3; } } };\n",
	  "k.conf:3: vary.run.epochs: found min = 3 and max = 3, allowed: a min below the max" },
	{ "a log from 0",
	  STORES "series = { method = \"random\"; trials = 3; };\n"
		 "vary = { optimizer = { momentum = { min = 0.0; max = 0.5; scale = \"log\"; } } };\n",
	  "k.conf:3: vary.optimizer.momentum.min: found 0, allowed with scale \"log\": numbers above 0" },
	{ "an end out of bounds",
	  STORES "series = { method = \"random\"; trials = 3; };\n"
		 "vary = { optimizer = { momentum = { min = 0.1;\n max = 1.5; } } };\n",
	  "k.conf:4: optimizer.momentum: found 1.5, allowed: a number, 0 .. 1" },
	{ "a range of words",
	  STORES "series = { method = \"random\"; trials = 3; };\nvary = { optimizer = { name = { min = 1; "
		 "max = 2; } } "
		 "};\n",
	  "k.conf:3: vary.optimizer.name: found a range, allowed: a list of values, because the key is no "
	  "number" },
	{ "wrong members of a range",
	  STORES "series = { method = \"random\"; trials = 3; };\n"
		 "vary = { run = { epochs = { min = 1; maxi = 3; scale = \"ln\"; } } };\n",
	  "k.conf:3: vary.run.epochs.scale: found \"ln\", allowed: one of \"linear\", \"log\"\n"
	  "k.conf:3: vary.run.epochs.maxi: found an unknown key, allowed: min, max, scale; did you mean "
	  "\"max\"?\n"
	  "k.conf:3: vary.run.epochs.max: found nothing, allowed: a number" },
	{ "mistakes of the file and of trials at once",
	  STORES "run = { epochs = 0; };\n"
		 "experiments = ( { name = \"a\"; overrides = { run = { batch_rows = 0; } } },\n"
		 " { name = \"b\"; overrides = { optimizer = { momentum = 2; } } } );\n",
	  "k.conf:2: run.epochs: found 0, allowed: an integer, 1 .. 1000000\n"
	  "k.conf:3: trial \"a\": run.batch_rows: found 0, allowed: an integer, 1 .. 65536\n"
	  "k.conf:4: trial \"b\": optimizer.momentum: found 2, allowed: a number, 0 .. 1" },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		CLEANUP(trials_done) struct trials trials = { 0 };
		struct error err = { 0 };
		int r = make(refusals[i].text, &trials, &err);

		if (r != -EINVAL || strcmp(err.text, refusals[i].words) != 0)
			fail_msg("%s: found %d \"%s\"\nexpected \"%s\"", refusals[i].label, r, err.text,
				 refusals[i].words);
	}
}

static char *checked(const char *text)
{
	struct error err = { 0 };
	char *said = NULL;

	write_file("k.conf", text, strlen(text));
	if (trials_check_text("k.conf", graph_check, &said, &err) != (said && *said ? -EINVAL : 0))
		fail_msg("%s", err.text);
	assert_non_null(said);
	return said;
}

/* The network of every trial is built, too, and the objective must be one that a run has. */
static void test_network_of_every_trial(void **state)
{
	CLEANUP(free_ptr)
	char *good = checked(STORES "experiments = ( { name = \"a\"; } );\n"),
	     *bad = checked(STORES "experiments = ( { name = \"a\"; },\n"
				   " { name = \"b\"; overrides = { model = { layers = { dense = {\n"
				   "unitz = 3; } } } } },\n"
				   " { name = \"c\"; overrides = { optimizer = { name = "
				   "\"adan\"; } } } );\n"),
	     *none = checked(STORES "split = { validation_percent = 0; };\n"
				    "vary = { run = { epochs = [ 1, 2 ]; } };\n");

	(void)state;
	assert_string_equal(good, "");
	assert_non_null(strstr(bad, "k.conf:4: trial \"b\": model.layers.unitz: found an unknown"));
	assert_non_null(strstr(bad, "k.conf:5: trial \"c\": optimizer.name: found \"adan\""));
	assert_string_equal(
		none, "k.conf:1: promote.objective: found \"validation.accuracy\", allowed with validation "
		      "shards: split.validation_percent\n");
}

static void check_objective(const char *text, const char *objective, bool maximizes, const char *mistake)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 }, said = { 0 };
	struct mistakes mistakes = { .file = "k.conf", .err = &said };

	if (load(text, strlen(text), &config, &err) < 0)
		fail_msg("%s", err.text);
	objective_check(&config, &mistakes);
	assert_string_equal(objective_text(&config), objective);
	assert_int_equal(objective_maximizes(&config), maximizes);
	assert_string_equal(said.text, mistake);
}

#define TRIALS "vary = { run = { seed = [ 1, 2 ]; }; };\n"
#define MSE    "model = { loss = \"mean_squared_error\"; };\n"

static void test_objective(void **state)
{
	(void)state;
	check_objective(STORES TRIALS, "validation.accuracy", true, "");
	check_objective(STORES TRIALS MSE, "validation.loss", false, "");
	check_objective(STORES "promote = { direction = \"min\"; };\n", "validation.accuracy", false, "");
	check_objective(STORES MSE "promote = { objective = \"test.loss\"; direction = \"max\"; };\n",
			"test.loss", true, "");
	check_objective(STORES "promote = { against = \"champion\"; };\n", "validation.accuracy", true, "");
	check_objective(
		STORES "promote = { against = \"champion\"; };\nsplit = { test_glob = \"\"; };\n",
		"validation.accuracy", true,
		"k.conf:2: promote.against: found \"champion\", allowed with test shards, on which both "
		"are judged: split.test_glob");
	check_objective(STORES MSE "promote = { objective = \"train.accuracy\"; };\n", "train.accuracy", true,
			"k.conf:3: promote.objective: found \"train.accuracy\", allowed with a loss that has "
			"an accuracy");
	check_objective(STORES
			"split = { test_glob = \"\"; };\npromote = { objective = \"test.accuracy\"; };\n",
			"test.accuracy", true,
			"k.conf:3: promote.objective: found \"test.accuracy\", allowed with test shards: "
			"split.test_glob");
	check_objective(
		STORES TRIALS "series = { method = \"halving\"; };\n"
			      "promote = { objective = \"test.loss\"; };\n",
		"test.loss", false,
		"k.conf:4: promote.objective: found \"test.loss\", allowed with series.method \"grid\" or "
		"\"random\": a rung of \"halving\" has no test");
	/* A night of one run compares nothing. */
	check_objective(STORES "split = { validation_percent = 0; };\n", "validation.accuracy", true, "");
}

/* ---- A trial's configuration ---- */

static void test_config_of_a_trial(void **state)
{
	static const char text[] =
		STORES "series = { method = \"random\"; trials = 2; }; run = { epochs = 7; };\n" VARY;
	CLEANUP(json_free)
	cJSON *overrides =
		cJSON_Parse("{\"optimizer.learning_rate\": 1, \"run.epochs\": 3, "
			    "\"model.layers.dense_1.units\": 5, \"model.layers.dropout.rate\": 0.5, "
			    "\"model.class_weights\": [1, 2.5]}");
	CLEANUP(config_done) struct config config = { 0 }, again = { 0 }, same = { 0 };
	CLEANUP(free_ptr) char *printed = NULL, *second = NULL;
	struct error err = { 0 };

	(void)state;
	write_file("k.conf", text, strlen(text));
	assert_int_equal(trials_config("k.conf", overrides, &config, &err), 0);
	assert_false(config_has_trials(&config));
	assert_int_equal(config.run.epochs, 3);
	assert_true(config.optimizer.learning_rate == 1);
	assert_int_equal(config.series.trials, 0);
	assert_int_equal(config.model.layer[3].attribute[0].i, 5);
	assert_true(config.model.layer[2].attribute[0].f == 0.5 && config.model.class_weights.at[1] == 2.5);
	assert_int_equal(config_print(&config, &printed, &err), 0);
	assert_null(strstr(printed, "vary"));
	assert_null(strstr(printed, "series"));
	write_file("shown.conf", printed, strlen(printed));
	assert_int_equal(config_load("shown.conf", &again, &err), 0);
	assert_int_equal(again.run.epochs, 3);
	assert_int_equal(trials_config("k.conf", NULL, &same, &err), 0);
	assert_int_equal(same.run.epochs, 7);
	assert_int_equal(config_print(&same, &second, &err), 0);
	assert_null(strstr(second, "vary"));
}

static void test_config_refusals(void **state)
{
	static const struct {
		const char *overrides, *words;
	} cases[] = {
		{ "{\"run.epochs\": 0}", "k.conf:2: run.epochs: found 0, allowed: an integer, 1 .. 1000000" },
		{ "{\"run.epochs\": \"many\"}",
		  "k.conf:2: run.epochs: found \"many\", allowed: an integer, 1 .. 1000000" },
		{ "{\"run.epochs\": null}",
		  "k.conf:1: run.epochs: found a value that kiln.conf cannot have" },
		{ "{\"run.seed\": 1.5}",
		  "k.conf:2: run.seed: found 1.5, allowed: an integer, 0 .. 9007199254740992" },
		{ "{\"sink.url\": \"file:///x\"}", "k.conf:1: sink.url: found it in a trial" },
		{ "{\"a b.c\": 1}", "k.conf: a b.c: cannot be set in a trial" },
		{ "{\"model.layers.x.units\": 1}", "k.conf:1: model.layers.x.units: found no layer \"x\"" },
	};
	static const char text[] = STORES "run = { epochs = 7; };\n";

	(void)state;
	write_file("k.conf", text, strlen(text));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(json_free) cJSON *overrides = cJSON_Parse(cases[i].overrides);
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		int r = trials_config("k.conf", overrides, &config, &err);

		if (r != -EINVAL || strncmp(err.text, cases[i].words, strlen(cases[i].words)) != 0)
			fail_msg("%s: found %d \"%s\"", cases[i].overrides, r, err.text);
	}
}

/* kiln config show keeps the trials: the shown text gives the same trials. */
static void test_shown_file_has_the_same_trials(void **state)
{
	static const char text[] = STORES "run = { seed = 4294967296L; };\n"
					  "experiments = ( { name = \"a\"; overrides = { model = { layers = "
					  "( { op = \"dense\"; units = 2; }, { op "
					  "= \"softmax\"; } ); }; run = { seed = 5000000000L; }; }; } );\n"
					  "series = { method = \"random\"; trials = 3; };\n" VARY;
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(trials_done) struct trials one = { 0 }, two = { 0 };
	CLEANUP(free_ptr) char *shown = NULL;
	struct error err = { 0 };

	(void)state;
	must_make(text, &one);
	assert_int_equal(config_load("k.conf", &config, &err), 0);
	assert_int_equal(config_print(&config, &shown, &err), 0);
	must_make(shown, &two);
	assert_int_equal(one.count, 4);
	assert_int_equal(two.count, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(cJSON_Compare(one.trial[i].overrides, two.trial[i].overrides, true));
}

/* Every key of the table either varies or belongs to the box or the series. */
static void test_may_vary(void **state)
{
	(void)state;
	assert_true(trials_may_vary("run.epochs") && trials_may_vary("model.layers.dense.units"));
	assert_true(trials_may_vary("sources") && trials_may_vary("source.url"));
	assert_false(trials_may_vary("run.name") || trials_may_vary("sink") || trials_may_vary("sink.url"));
	assert_false(trials_may_vary("vary") || trials_may_vary("tracking.url") ||
		     trials_may_vary("ranks.network") || trials_may_vary("series.trials"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_grid),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_draws_are_fixed),
		cmocka_unit_test(test_all_of_a_small_space),
		cmocka_unit_test(test_drawn_order),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_network_of_every_trial),
		cmocka_unit_test(test_objective),
		cmocka_unit_test(test_config_of_a_trial),
		cmocka_unit_test(test_config_refusals),
		cmocka_unit_test(test_shown_file_has_the_same_trials),
		cmocka_unit_test(test_may_vary),
	};

	return cmocka_run_group_tests_name("trials", tests, setup, teardown);
}
