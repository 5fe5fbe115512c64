/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/trials.h"
#include "model/build.h"
#include "tests/unit/config_fixture.h"

#define FAULTY(label, text, line, one, other, other_line)                                     \
	{                                                                                     \
		label, STORES text,                                                           \
			"k.conf:" line ": checkpoint." one ": found beside checkpoint." other \
			" on line " other_line ", allowed: one of them"                       \
	}

static void test_checkpoints(void **state)
{
	static const struct refusal cases[] = {
		FAULTY("steps and minutes", "checkpoint: { every_steps = 20;\nevery_minutes = 5; };", "3",
		       "every_minutes", "every_steps", "2"),
		FAULTY("minutes and auto", "checkpoint: {\nauto = true;\n every_minutes = 0.5; };", "3",
		       "auto", "every_minutes", "4"),
		FAULTY("auto and steps", "checkpoint: { every_steps = 7;\n auto = true; };", "3", "auto",
		       "every_steps", "2"),
	};
	static const struct {
		const char *text;
		uint64_t every_steps;
		double every_minutes;
		bool automatic;
	} good[] = {
		{ "", 0, 0, true },
		{ "checkpoint: { every_steps = 20; };", 20, 0, false },
		{ "checkpoint: { every_minutes = 0.5; };", 0, 0.5, false },
		{ "checkpoint: { every_steps = 0; };", 0, 0, false },
		{ "checkpoint: { auto = false; };", 0, 0, false },
		{ "checkpoint: { every_steps = 0; every_minutes = 0.0; auto = true; };", 0, 0, true },
		{ "checkpoint: { every_steps = 3; every_minutes = 0.0; auto = false; };", 3, 0, false },
	};

	(void)state;
	CHECK_REFUSALS(cases);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CLEANUP(config_done) struct config config = { 0 };
		struct error err = { 0 };
		char text[256];

		(void)snprintf(text, sizeof(text), STORES "%s", good[i].text);
		assert_int_equal(load(text, strlen(text), &config, &err), 0);
		assert_int_equal(config.checkpoint.every_steps, good[i].every_steps);
		assert_true(config.checkpoint.every_minutes == good[i].every_minutes);
		assert_int_equal(config.checkpoint.automatic, good[i].automatic);
	}
}

static void test_callbacks(void **state)
{
	static const struct refusal cases[] = {
		{ "a figure that is none", STORES "keep_best: { monitor = \"f1\"; };",
		  "k.conf:2: keep_best.monitor: found \"f1\", allowed: one of \"none\", \"loss\", "
		  "\"accuracy\", \"val_loss\", \"val_accuracy\"" },
		{ "no validation",
		  STORES "split: { validation_percent = 0; };\nearly_stopping: { monitor = \"val_loss\"; };",
		  "k.conf:3: early_stopping.monitor: found a metric of the validation, allowed while "
		  "split.validation_percent is 0: \"loss\", \"accuracy\"" },
		{ "two that keep the best",
		  STORES "keep_best: { monitor = \"loss\"; };\nearly_stopping: { monitor = \"val_loss\";\n"
			 "restore_best = true; };",
		  "k.conf:2: keep_best.monitor: found beside early_stopping.restore_best on line 4, allowed: "
		  "one of them" },
		{ "two that change the rate",
		  STORES
		  "reduce_on_plateau: { monitor = \"loss\"; };\noptimizer: { schedule = \"cosine\"; };",
		  "k.conf:2: reduce_on_plateau.monitor: found beside optimizer.schedule on line 3, allowed "
		  "with schedule \"constant\" alone" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

#define OBJECTS "source: { url = \"s3://bkt/p\"; format = \"objects\"; }; " SINK
#define PICTURE "{ name = \"image\"; dtype = \"picture\"; shape = [ 8, 8, 3 ]; }"
#define LABEL   "{ name = \"label\"; dtype = \"int64\"; shape = [ 1 ]; }"
#define INPUT   "model: { input = \"image\"; };\n"

static void test_objects(void **state)
{
	static const char good[] = OBJECTS INPUT "schema = ( " PICTURE ", " LABEL " );";
	static const struct refusal cases[] = {
		{ "the last keys",
		  OBJECTS INPUT "schema = ( " PICTURE ", " LABEL " );\nsplit: { by = \"shard\"; };",
		  "k.conf:4: split.by: found \"shard\", allowed with source.format \"objects\": \"hash\", "
		  "\"prefix\", as the last keys are of one class" },
		{ "arrival order, a filter",
		  OBJECTS INPUT "schema = ( " PICTURE ", " LABEL " );\norder: { mode = \"fast\";\nfilter = "
				"\"label == 1\"; };",
		  "k.conf:4: order.mode: found \"fast\", allowed with source.format \"objects\": \"exact\"\n"
		  "k.conf:5: order.filter: found \"label == 1\", allowed with source.format \"objects\": "
		  "\"\"" },
		{ "another feature",
		  OBJECTS INPUT "schema = ( " PICTURE ", " LABEL
				",\n{ name = \"w\"; dtype = \"float32\"; } );",
		  "k.conf:3: schema: found the feature \"w\", allowed with source.format \"objects\": one of "
		  "dtype \"picture\", and the one that model.label names" },
		{ "a label of pixels",
		  OBJECTS INPUT "schema = ( " PICTURE
				",\n{ name = \"label\"; dtype = \"int64\"; shape = [ 2, 2 ]; "
				"} );",
		  "k.conf:3: schema: found the label \"label\" with another dtype or shape, allowed with "
		  "source.format \"objects\": int64, shape [ 1 ] or [ classes ]" },
		{ "no picture", OBJECTS "model: { input = \"label\"; };\nschema = ( " LABEL " );",
		  "k.conf:3: schema: found 0 features of dtype \"picture\", allowed with source.format "
		  "\"objects\": 1" },
		{ "a format that is none", "source: { url = \"s3://bkt/p\"; format = \"zip\"; }; " SINK,
		  "k.conf:1: source.format: found \"zip\", allowed: one of \"tfrecord\", \"objects\"" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(good, strlen(good), &config, &err), 0);
	assert_true(config_reads_objects(&config));
	assert_int_equal(config.split.by, SPLIT_BY_HASH);
}

static void test_stores_of_lakefs(void **state)
{
	static const struct refusal cases[] = {
		{ "no server", "source: {\n url = \"lakefs://rep/main/a\"; };\n" SINK,
		  "k.conf:1: source.endpoint: found with source.url = \"lakefs://rep/main/a\", allowed: the "
		  "lakeFS "
		  "server, https://host[:port] or http://host[:port]" },
		{ "pre-signed URLs of S3", "source: { url = \"s3://bkt/p\";\n presign = true; };\n" SINK,
		  "k.conf:2: source.presign: found with source.url = \"s3://bkt/p\", allowed: false, or a "
		  "url "
		  "lakefs://repository/branch" },
		{ "one of a list", "\nsources = ( { url = \"lakefs://rep/main\"; } );\n" SINK,
		  "k.conf:2: sources.endpoint: found with sources.url = \"lakefs://rep/main\", allowed: the "
		  "lakeFS server, https://host[:port] or http://host[:port]" },
		{ "branches of S3",
		  "source: { url = \"s3://bkt/p\"; };\nsink: { url = \"s3://bkt/r\";\n merge_into = "
		  "\"main\";\n keep_branches = \"none\"; };\n",
		  "k.conf:3: sink.merge_into: found with sink.url = \"s3://bkt/r\", allowed: a url "
		  "lakefs://repository/branch\n"
		  "k.conf:4: sink.keep_branches: found with sink.url = \"s3://bkt/r\", allowed: a url "
		  "lakefs://repository/branch" },
		{ "an expression as a branch",
		  "source: { url = \"s3://bkt/p\"; };\nsink: {\n url = \"lakefs://rep/main~1/r\"; endpoint = "
		  "\"https://l\";\n merge_into = \"-x\"; };\n",
		  "k.conf:3: sink.url: found the branch \"main~1\", allowed: letters, digits, '_' and '-', "
		  "the "
		  "first no '-'\n"
		  "k.conf:4: sink.merge_into: found the branch \"-x\", allowed: letters, digits, '_' and "
		  "'-', the "
		  "first no '-'" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static void test_all_mistakes_at_once(void **state)
{
	static const struct refusal cases[] = {
		{ "of every kind",
		  "source: {\n  url = \"b\";\n  http2 = 1;\n};\nrun: {\n  name = \"a b\";\n  epoch = 1;\n"
		  "  epochs = 0;\n};\nschema = ( 1 );\nextra = 2;\n",
		  "k.conf:2: source.url: found \"b\", allowed: s3://bucket[/prefix], file:///folder or "
		  "lakefs://repository/branch[/prefix]; a "
		  "bucket has 3 .. 255 characters of [A-Za-z0-9._-]\n"
		  "k.conf:3: source.http2: found 1, allowed: true or false\n"
		  "k.conf:6: run.name: found \"a b\", allowed: 1 .. 64 characters of [A-Za-z0-9_-]\n"
		  "k.conf:7: run.epoch: found an unknown key, allowed: the keys of `kiln config reference`; "
		  "did "
		  "you mean \"run.epochs\"?\n"
		  "k.conf:8: run.epochs: found 0, allowed: an integer, 1 .. 1000000\n"
		  "k.conf:11: extra: found an unknown group, allowed: the groups of `kiln config reference`\n"
		  "k.conf:1: sink.url: found nothing, it must be given\n"
		  "k.conf:10: schema: found an integer, allowed: groups { ... }" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

static char *checked(const char *path, void (*check)(const struct config *, struct mistakes *), int *ret_code)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	*ret_code = trials_check(path, check, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static unsigned lines_of(const char *text)
{
	unsigned lines = *text != '\0';

	for (; *text; text++)
		lines += text[0] == '\n' && text[1];
	return lines;
}

/* The text of an error contains as many whole lines as fit, and the number of the lines left out;
 * trials_check() prints all lines. */
static void test_more_mistakes_than_fit(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *all = NULL;
	char text[8192] = STORES, last[64];
	struct error err = { 0 };
	int r;

	(void)state;
	for (int i = 0; i < 250; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "wrong_%d = %d;\n", i, i);
	assert_int_equal(load(text, strlen(text), &config, &err), -EINVAL);
	assert_non_null(strstr(err.text, "k.conf:2: wrong_0: "));
	(void)snprintf(last, sizeof(last), "\n... and %u more mistakes", 250 - (lines_of(err.text) - 1));
	assert_string_equal(strrchr(err.text, '\n'), last);
	all = checked("k.conf", NULL, &r);
	assert_int_equal(r, -EINVAL);
	assert_int_equal(lines_of(all), 250);
	assert_non_null(strstr(all, "\nk.conf:251: wrong_249: found an unknown group, allowed: "));
}

/* Compares the beginnings of lines only: their ends list all layers, losses or optimizers, and new ones will
 * be added. */
static void assert_lines_begin(const char *found, const char *said)
{
	assert_int_equal(lines_of(found), lines_of(said));
	for (; *said; said = strchr(said, '\n') + 1, found = strchr(found, '\n') + 1)
		if (strncmp(found, said, strcspn(said, "\n")) != 0)
			fail_msg("found \"%.200s\"\nwanted \"%.200s\"", found, said);
}

/* Mistakes that only the model sees are in the same list, also after mistakes of other keys. */
static void test_check_with_the_model(void **state)
{
	static const char
		text[] = STORES
		"run: { seeed = 3; };\noptimizer: {\n  name = \"zz\"; };\nmodel: {\n  input = \"nope\";\n"
		"  layers = (\n"
		"    { op = \"dense\"; unitz = 3; },\n    { op = \"convv\"; },\n"
		"    { op = \"dense\";\n units = -2; },\n    { op = \"dropout\"; rate = 7; },\n"
		"    { op = \"relu\"; x = ( ); y = 1; },\n    { op = \"dense\"; inputs = [ 3 ]; },\n"
		"    { op = 3; units = \"x\"; }\n  );\n  loss = \"mse\";\n};\n",
		said[] = "k.conf:2: run.seeed: found an unknown key, allowed: the keys of `kiln config "
			 "reference`; did you mean \"run.seed\"?\n"
			 "k.conf:13: model.layers.x: found a list, allowed: a number, truth value, string or "
			 "[ ] of numbers\n"
			 "k.conf:14: model.layers.inputs: found a list of 1, allowed: [ ] of 1 .. 1024 layer "
			 "names\n"
			 "k.conf:15: model.layers.op: found 3, allowed: 1 .. 64 characters of "
			 "[A-Za-z0-9_-]\n"
			 "k.conf:6: model.input: found \"nope\", allowed: a float32, int64, uint8 or picture "
			 "feature of `schema`\n"
			 "k.conf:17: model.loss: found \"mse\", allowed: categorical_crossentropy\n"
			 "k.conf:4: optimizer.name: found \"zz\", allowed: adam, adamw, sgd\n"
			 "k.conf:8: model.layers.unitz: found an unknown key, allowed for dense: op, name, "
			 "inputs, units, use_bias, \n"
			 "k.conf:8: model.layers.units: found nothing, allowed: an integer 1 <= x <= "
			 "1048576\n"
			 "k.conf:9: model.layers.op: found \"convv\", allowed: dense, relu, \n"
			 "k.conf:11: model.layers.units: found -2, allowed: an integer 1 <= x <= "
			 "1048576\n"
			 "k.conf:12: model.layers.rate: found 7, allowed: a number 0 <= x < 1\n"
			 "k.conf:13: model.layers.y: found an unknown key, allowed for relu: op, name, "
			 "inputs\n",
		few[] = STORES "schema = ( 3 );\nmodel: { loss = 5; input = 3; label = true; };\n"
			       "optimizer: { name = 1; };\n",
		lanes[] = STORES "order: { lanes = 4; };\nrun: { batch_rows = 30; };\n";
	CLEANUP(free_ptr) char *found = NULL, *unread = NULL, *absent = NULL, *good = NULL, *uneven = NULL;
	int r;

	(void)state;
	write_file("k.conf", text, strlen(text));
	found = checked("k.conf", graph_check, &r);
	assert_int_equal(r, -EINVAL);
	assert_lines_begin(found, said);
	/* The model adds no mistakes about values that could not be read. */
	write_file("k.conf", few, strlen(few));
	unread = checked("k.conf", graph_check, &r);
	assert_int_equal(lines_of(unread), 5);
	absent = checked("none.conf", graph_check, &r);
	assert_int_equal(r, -ENOENT);
	assert_string_equal(absent, "none.conf: cannot read it: No such file or directory\n");
	write_file("k.conf", STORES, strlen(STORES));
	good = checked("k.conf", graph_check, &r);
	assert_int_equal(r, 0);
	assert_string_equal(good, "");
	write_file("k.conf", lanes, strlen(lanes));
	uneven = checked("k.conf", graph_check, &r);
	assert_int_equal(r, -EINVAL);
	assert_string_equal(
		uneven,
		"k.conf:2: order.lanes: found 4, allowed: a number that divides run.batch_rows, 30\n");
}

/* A value for a key that nothing reads is a mistake, and the message names the setting with which the key is
 * read. A default value is no mistake, because a file may list all keys. */
#define DENSE_OF(input) \
	"{ op = \"dense\"; inputs = [ \"" input "\" ]; units = 2; }, { op = \"softmax\"; } ); };"
#define WITH_ADAM                                                \
	", which nothing reads, allowed: with optimizer.name = " \
	"\"adam\", \"adamw\", \"adamax\" or \"lion\"\n"
#define WITH_MONITOR(group)                                       \
	", which nothing reads, allowed: with " group             \
	".monitor, one of \"loss\", \"accuracy\", \"val_loss\", " \
	"\"val_accuracy\"\n"
static const struct {
	const char *text, *words; /* text from line 2 on; expected mistakes */
} unread[] = {
	{ "early_stopping: { patience = 3;\n restore_best = true; };",
	  "k.conf:2: early_stopping.patience: found 3" WITH_MONITOR(
		  "early_stopping") "k.conf:3: early_stopping.restore_best: found "
				    "true" WITH_MONITOR("early_stopping") },
	{ "early_stopping: { patience = 0; };",
	  "k.conf:2: early_stopping.patience: found 0" WITH_MONITOR("early_stopping") },
	{ "reduce_on_plateau: { factor = 0.1; };",
	  "k.conf:2: reduce_on_plateau.factor: found 0.1" WITH_MONITOR("reduce_on_plateau") },
	{ "keep_best: { mode = \"max\"; };",
	  "k.conf:2: keep_best.mode: found \"max\"" WITH_MONITOR("keep_best") },
	{ "model: { weights_layers = \"dense\"; weights_skip_mismatch = true; layers = ( " DENSE_OF(
		  "sentence"),
	  "k.conf:2: model.weights_layers: found \"dense\", which nothing reads, allowed: with "
	  "model.weights\n"
	  "k.conf:2: model.weights_skip_mismatch: found true, which nothing reads, allowed: with "
	  "model.weights\n" },
	{ "optimizer: { schedule = \"step\"; boundaries = [ 1 ]; values = [ 0.1, 0.01 ]; learning_rate = "
	  "0.1; };",
	  "k.conf:2: optimizer.learning_rate: found 0.1, which nothing reads, allowed: with "
	  "optimizer.schedule other than \"step\"\n" },
	{ "optimizer: { momentum = 0.9; };", "k.conf:2: optimizer.momentum: found 0.9, which "
					     "nothing reads, allowed: with optimizer.name = "
					     "\"sgd\" or \"rmsprop\"\n" },
	{ "optimizer: { name = \"adamw\"; nesterov = true; };",
	  "k.conf:2: optimizer.nesterov: found true, which nothing reads, allowed: with "
	  "optimizer.name = "
	  "\"sgd\" and optimizer.momentum above 0\n" },
	{ "optimizer: { name = \"sgd\"; nesterov = true; beta_1 = 0.8; beta_2 = 0.8; epsilon "
	  "= 0.1; };",
	  "k.conf:2: optimizer.beta_1: found 0.8" WITH_ADAM "k.conf:2: optimizer.beta_2: found 0.8" WITH_ADAM
	  "k.conf:2: optimizer.epsilon: found 0.1, which nothing reads, allowed: with optimizer.name other "
	  "than "
	  "\"sgd\" and \"lion\"\n"
	  "k.conf:2: optimizer.nesterov: found true, which nothing reads, allowed: with "
	  "optimizer.name = "
	  "\"sgd\" and optimizer.momentum above 0\n" },
	{ "optimizer: { ema_momentum = 0.99; };",
	  "k.conf:2: optimizer.ema_momentum: found 0.99, which nothing reads, allowed: with "
	  "optimizer.use_ema = true\n" },
	{ "optimizer: { exclude_from_weight_decay = \"bias\"; };",
	  "k.conf:2: optimizer.exclude_from_weight_decay: found \"bias\", which nothing "
	  "reads, allowed: "
	  "with optimizer.weight_decay above 0, or optimizer.name = \"adamw\"\n" },
	{ "optimizer: { lazy = true; };", "k.conf:2: optimizer.lazy: found true, which "
					  "nothing reads, allowed: with an embedding or "
					  "embedding_bag that is not frozen\n" },
	{ "model: { input = \"label\"; layers = ( " DENSE_OF("sentence"),
	  "k.conf:2: model.input: found \"label\", which nothing reads, allowed: with a "
	  "layer that reads "
	  "it\n" },
	{ "model: { layers = ( " DENSE_OF("x") "\nschema = ( " FEATURE("x", "float32") ",\n" FEATURE(
		  "label", "int64") " );",
	  "" },
	{ "model: { base_pooling = \"avg\"; };",
	  "k.conf:2: model.base_pooling: found \"avg\", which nothing reads, allowed: with model.base\n" },
	{ "model: { huber_delta = 0.5; };", "k.conf:2: model.huber_delta: found 0.5, which nothing reads, "
					    "allowed: with model.loss = \"huber\"\n" },
	{ "early_stopping: { monitor = \"none\"; patience = 0; };", "" },
	{ "optimizer: { name = \"sgd\"; beta_1 = 0.9; nesterov = false; momentum = 0.0; lazy "
	  "= false; };",
	  "" },
	{ "optimizer: { name = \"sgd\"; nesterov = true; momentum = 0.9; };", "" },
	{ "optimizer: { use_ema = true; ema_momentum = 0.9; weight_decay = 0.1;\n"
	  "exclude_from_weight_decay = \"bias\"; };",
	  "" },
};

static void test_unread(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++) {
		CLEANUP(free_ptr) char *found = NULL;
		char text[1024];
		int r;

		(void)snprintf(text, sizeof(text), STORES "%s\n", unread[i].text);
		write_file("k.conf", text, strlen(text));
		found = checked("k.conf", graph_check, &r);
		assert_string_equal(found, unread[i].words);
		assert_int_equal(r, *unread[i].words ? -EINVAL : 0);
	}
}

static void test_base(void **state)
{
	static const struct refusal cases[] = {
		{ "a base without a head", STORES "model: {\nbase = \"vgg16\"; };",
		  "k.conf:3: model.layers: found nothing, allowed with model.base: the layers after it" },
		{ "all and a part",
		  STORES "model: { base = \"vgg16\";\nbase_unfreeze_from = \"block5_conv1\"; layers = ( { op "
			 "= \"softmax\"; } ); };",
		  "k.conf:3: model.base_unfreeze_from: found \"block5_conv1\", allowed: with "
		  "model.base_trainable = false" },
		{ "a pooling that is none", STORES "model: { base_pooling = \"mean\"; };",
		  "k.conf:2: model.base_pooling: found \"mean\", allowed: one of \"none\", \"avg\", "
		  "\"max\"" },
		{ "features beside a base",
		  STORES
		  "model: { base = \"vgg16\"; layers = ( { op = \"softmax\"; } );\nfeatures_of = \"vgg16\"; "
		  "weights = \"b\"; };",
		  "k.conf:3: model.features_of: found \"vgg16\" beside model.base on line 2, allowed: one of "
		  "them" },
		{ "features without the file of their base", STORES "model: { features_of = \"vgg16\"; };",
		  "k.conf:2: model.features_of: found \"vgg16\", allowed: with model.weights = the file "
		  "base.safetensors that kiln prep --features wrote" },
		{ "features and the weights of the last run",
		  STORES
		  "run: { start_from = \"latest\"; };\nmodel: { features_of = \"vgg16\"; weights = \"b\"; };",
		  "k.conf:2: run.start_from: found \"latest\", allowed with model.features_of: \"scratch\"" },
		{ "a scaling that is none", STORES "model: { base_scaling = \"rgb\"; };",
		  "k.conf:2: model.base_scaling: found \"rgb\", allowed: one of \"auto\", \"none\", "
		  "\"caffe\", "
		  "\"tf\", \"torch\", \"lite\"" },
	};

	(void)state;
	CHECK_REFUSALS(cases);
}

#define LANES   "order: { lanes = 3; }; "
#define NETWORK LANES "ranks: { network = \"10.7.0.0/30\";\n"

static void test_ranks(void **state)
{
	static const char good[] =
		STORES LANES "ranks: { network = \"10.7.0.0/24\"; boxes = \"box-2 box-3\"; boxes_min = 3; "
			     "exchange = \"bfloat16\"; };";
	static const struct refusal cases[] = {
		{ "boxes without a network", STORES LANES "ranks: {\nboxes = \"box-2\"; };",
		  "k.conf:2: ranks.network: found \"\", allowed with ranks.boxes: an IPv4 network such as "
		  "\"10.7.0.0/24\", prefix 1 .. 30, no bits set after the prefix" },
		{ "more boxes than addresses", STORES NETWORK "boxes = \"b c\"; };",
		  "k.conf:2: ranks.network: found \"10.7.0.0/30\", which has addresses for 2 boxes, allowed: "
		  "at least 3" },
		{ "a box twice", STORES NETWORK "boxes = \"b B\"; };",
		  "k.conf:3: ranks.boxes: found \"B\" twice, allowed: once\n"
		  "k.conf:2: ranks.network: found \"10.7.0.0/30\", which has addresses for 2 boxes, allowed: "
		  "at least 3" },
		{ "an address of IPv6", STORES NETWORK "boxes = \"fd00::1\"; };",
		  "k.conf:3: ranks.boxes: found \"fd00::1\", allowed: host names, 1 .. 63 characters of "
		  "[A-Za-z0-9.-]" },
		{ "more boxes needed than there are", STORES NETWORK "boxes = \"b\"; boxes_min = 3; };",
		  "k.conf:3: ranks.boxes_min: found 3, allowed: at most 2, this box and those of "
		  "ranks.boxes" },
		{ "a lane too few for the devices of all boxes",
		  STORES "order: { lanes = 3; }; device: { count = 2; };\nranks: { network = "
			 "\"10.7.0.0/24\"; boxes = \"b\"; };",
		  "k.conf:2: order.lanes: found 3, allowed with 4 devices: 4 or more" },
		{ "a network that is none, trusted", STORES "ranks: {\ntrusted = true; };",
		  "k.conf:3: ranks.trusted: found true, allowed: with ranks.network" },
	};
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)state;
	CHECK_REFUSALS(cases);
	assert_int_equal(load(good, strlen(good), &config, &err), 0);
	assert_string_equal(config.ranks.boxes, "box-2 box-3");
	assert_int_equal(config.ranks.boxes_min, 3);
	assert_int_equal(config.ranks.exchange, EXCHANGE_BFLOAT16);
	assert_true(config.ranks.exact && !config.ranks.trusted && !config.ranks.mixed);
	assert_true(config.ranks.bucket_bytes == 4u << 20 && config.ranks.wait_s == 600 &&
		    config.ranks.check_steps == 1000);
}

static void test_devices(void **state)
{
	static const struct refusal cases[] = {
		{ "more devices than lanes", STORES "device: { count = 3; };\norder: { lanes = 2; };",
		  "k.conf:3: order.lanes: found 2, allowed with 3 devices: 3 or more" },
		{ "devices and one lane", STORES "device: { count = 2; };",
		  "k.conf:1: order.lanes: found 1, allowed with 2 devices: 2 or more" },
		{ "several devices of one name",
		  STORES "device: { count = 2;\nid = \"a100\"; };\norder: { lanes = 2; };",
		  "k.conf:3: device.id: found \"a100\", allowed with device.count above 1 or ranks.boxes: "
		  "\"auto\"" },
		{ "devices in fast order",
		  STORES "device: { count = 2; };\norder: { lanes = 2; mode = \"fast\"; };",
		  "k.conf:3: order.mode: found \"fast\", allowed with device.count above 1 or ranks.boxes: "
		  "\"exact\"" },
		{ "unequal shares without exact sums",
		  STORES "device: { count = 2; };\norder: { lanes = 3; };\nranks: { exact = false; };",
		  "k.conf:4: ranks.exact: found false, allowed with 2 devices and 3 lanes: true, or "
		  "order.lanes 1, 2, 4, 8, 16 or 32 times the devices" },
		{ "shares that are no nodes of the tree, without exact sums",
		  STORES "device: { count = 2; };\norder: { lanes = 6; };\nranks: { exact = false; };",
		  "k.conf:4: ranks.exact: found false, allowed with 2 devices and 6 lanes: true, or "
		  "order.lanes 1, 2, 4, 8, 16 or 32 times the devices" },
		{ "devices and trials side by side",
		  STORES "device: { count = 2; };\norder: { lanes = 2; };\nseries: { parallel = 0; };",
		  "k.conf:4: series.parallel: found 0, allowed with device.count above 1 or ranks.boxes: 1" },
		{ "too many devices", STORES "device: { count = 17; };",
		  "k.conf:2: device.count: found 17, allowed: an integer, 1 .. 16" },
	};
	static const char good[] = STORES "device: { count = 2; };\norder: { lanes = 2; };\n";
	struct config config;
	struct error err;

	(void)state;
	CHECK_REFUSALS(cases);
	write_file("k.conf", good, strlen(good));
	assert_int_equal(config_load("k.conf", &config, &err), 0);
	assert_int_equal(config.device.count, 2);
	config_done(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_stores_of_lakefs),
		cmocka_unit_test(test_all_mistakes_at_once),
		cmocka_unit_test(test_more_mistakes_than_fit),
		cmocka_unit_test(test_check_with_the_model),
		cmocka_unit_test(test_unread),
		cmocka_unit_test(test_base),
	};

	return cmocka_run_group_tests_name("config_together", tests, setup, teardown);
}
