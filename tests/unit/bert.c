/* SPDX-License-Identifier: Apache-2.0 */
/* The base bert: config.json, the tensors of Hugging Face, the vectors that it makes of ids beside float64,
 * and its training. Real weights are compared by tests/interop. */
#include "model/base/base.h"
#include "model/bert_files.h"
#include "model/config_text.h"
#include "model/convert.h"
#include "model/weights.h"
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/bert_fixture.h"
#include "tests/unit/state_of.h"

#define STEPS 8u
#define ROWS  4u

static struct gpu *gpu;
static char path[] = "/tmp/kiln-bert-XXXXXX";

static const int64_t ids[ROWS][STEPS] = {
	{ 7, 3, 59, 12, 4, 8, 9, 1 }, { 7, 3, 59, 12 }, { 1 }, { 40, 41, 42, 43, 44, 45, 46 }
};
static const uint64_t lengths[ROWS] = { 8, 4, 1, 7 };

/* ---- config.json ---- */

#define SIZES                                                                                                \
	"\"hidden_size\": 16, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"intermediate_size\": " \
	"40, "                                                                                               \
	"\"vocab_size\": 60, \"max_position_embeddings\": 12"

static int parse(const char *text, struct config_bert *bert, struct error *err)
{
	return bert_config_parse("c", text, strlen(text), bert, err);
}

static void test_config(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "{ \"model_type\": \"roberta\", " SIZES " }",
		  "c: model_type: found \"roberta\", allowed: \"bert\"" },
		{ "{ \"hidden_act\": \"gelu_new\", " SIZES " }",
		  "c: hidden_act: found \"gelu_new\", allowed: \"gelu\"" },
		{ "{ \"position_embedding_type\": \"relative_key\", " SIZES " }",
		  "c: position_embedding_type: found \"relative_key\", allowed: \"absolute\"" },
		{ "{ \"pad_token_id\": 1, " SIZES " }", "c: pad_token_id: found 1, allowed: 0" },
		{ "{ \"pad_token_id\": \"0\", " SIZES " }",
		  "c: \"pad_token_id\": found a string, expected a finite number" },
		{ "{ \"is_decoder\": true, " SIZES " }", "c: is_decoder: found true, allowed: false" },
		{ "{ \"layer_norm_eps\": -1, " SIZES " }", "c: layer_norm_eps: found -1, allowed: 0 .. 1" },
		{ "{ \"hidden_dropout_prob\": 1, " SIZES " }",
		  "c: hidden_dropout_prob: found 1, allowed: 0 .. 0.999999" },
		{ "{ \"attention_probs_dropout_prob\": 0.9999995, " SIZES " }",
		  "c: attention_probs_dropout_prob: found 0.9999995, allowed: 0 .. 0.999999" },
		{ "{ \"hidden_size\": 16 }", "c: \"num_hidden_layers\": found nothing" },
		{ "{ \"hidden_size\": 18, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
		  "\"intermediate_size\": 40, \"vocab_size\": 60, \"max_position_embeddings\": 12 }",
		  "c: num_attention_heads: found 4, allowed: a divisor of hidden_size, 18" },
		{ "{ \"hidden_size\": 0 }", "c: hidden_size: found 0, allowed: 1 .. 16384" },
		{ "[", "c: " },
	};
	struct config_bert bert;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		err = (struct error){ 0 };
		assert_true(parse(cases[i].text, &bert, &err) < 0);
		if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].expected);
	}
	assert_int_equal(parse("{ " SIZES ", \"attention_probs_dropout_prob\": 0 }", &bert, &err), 0);
	assert_int_equal(bert.intermediate_size, 40);
	assert_true(bert.layer_norm_eps == 1e-12);
	assert_true(bert.hidden_dropout_prob == 0.1);
	assert_true(bert.attention_probs_dropout_prob == 0);
}

/* The largest numbers that config.json may have are good in kiln.conf, too. */
static void test_bounds(void **state)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct config_bert bert;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(parse("{ " SIZES ", \"layer_norm_eps\": 1, \"hidden_dropout_prob\": 0.999999, "
			       "\"attention_probs_dropout_prob\": 0.999999 }",
			       &bert, &err),
			 0);
	if (bert_config_load(&bert, 4, 2, &config, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(config.model.bert.hidden_dropout_prob == 0.999999);
}

/* ---- Networks ---- */

/* `more`: further keys of the group model. */
static struct config config_of(const char *more)
{
	CLEANUP(free_ptr) char *text = NULL;
	char keys[BERT_KEYS_BYTES];
	struct config config = { 0 };
	struct error err = { 0 };

	if (asprintf(&text,
		     "run: { batch_rows = 4; };\n"
		     "source: { url = \"file:///none\"; };\nsink: { url = \"file:///none\"; };\n"
		     "schema = ( { name = \"tokens\"; dtype = \"int64\"; shape = [ %u ]; padding = \"post\"; "
		     "},\n"
		     "           { name = \"label\"; dtype = \"int64\"; shape = [ 2 ]; } );\n"
		     "optimizer: { learning_rate = 0.01; };\n"
		     "model: { input = \"tokens\"; base = \"bert\"; base_pooling = \"avg\"; %s\n%s\n"
		     "layers = ( { op = \"dense\"; name = \"head\"; units = 2; }, { op = \"softmax\"; } ); "
		     "};\n",
		     STEPS, bert_keys(&bert_small, keys), more) < 0)
		abort();
	if (config_text_load(text, &config, &err) < 0)
		fail_msg("%s", err.text);
	return config;
}

static struct safetensors *converted(const struct bert_fixture *fixture)
{
	struct convert *convert = NULL;
	struct safetensors *file = NULL;
	struct error err = { 0 };

	if (convert_open("bert", &bert_small, "f", fixture->tensor, fixture->count, &convert, &err) < 0 ||
	    convert_write(convert, path, &err) < 0 || safetensors_open(path, &file, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(convert_tensors(convert), 4 + 16 * BERT_LAYERS);
	convert_close(convert);
	return file;
}

static void load(struct model *model, const struct safetensors *file)
{
	struct weights weights;
	struct error err = { 0 };

	if (weights_match(model_graph(model), "w", file, &weights, &err) < 0 ||
	    weights_load(model, "w", &weights, &err) < 0)
		fail_msg("%s", err.text);
	weights_done(&weights);
}

/* The vectors of the base are those of float64, whatever stands behind a text: its padding is not read. */
static void test_vectors(void **state)
{
	struct bert_fixture fixture;
	CLEANUP(config_done) struct config config = config_of("");
	CLEANUP(model_closep) struct model *model = NULL;
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	float found[ROWS][BERT_HIDDEN];
	double worst = 0, least = 1;
	struct error err = { 0 };

	(void)state;
	bert_open(&fixture);
	file = converted(&fixture);
	assert_null(safetensors_value(file, "base_scaling"));
	assert_int_equal(model_open_base(gpu, &config, &model, &err), 0);
	load(model, file);
	assert_int_equal(model_predict(model, (const void *const[]){ ids }, ROWS, found[0], &err), 0);
	for (uint32_t r = 0; r < ROWS; r++) {
		double wanted[BERT_HIDDEN];

		bert_mean(&fixture, ids[r], lengths[r], wanted);
		least = fmin(least, bert_cosine(found[r], wanted));
		for (uint32_t i = 0; i < BERT_HIDDEN; i++)
			worst = fmax(worst, fabs((double)found[r][i] - wanted[i]));
	}
	print_message("least cosine 1 - %.1e, largest difference %.1e\n", 1 - least, worst);
	assert_true(least >= 0.9999999);
	assert_true(worst <= 1e-5);
	bert_close(&fixture);
}

/* ---- Files ---- */

static void rename_tensor(struct bert_fixture *fixture, const char *from, const char *to)
{
	for (uint32_t i = 0; i < fixture->count; i++)
		if (!strcmp(fixture->name[i], from))
			(void)snprintf(fixture->name[i], sizeof(fixture->name[i]), "%s", to);
}

/* The names of old files and of files of networks with a head give the same weights. */
static void test_other_names(void **state)
{
	struct bert_fixture fixture;
	CLEANUP(free_ptr) char *usual = NULL, *other = NULL;
	uint64_t usual_bytes, other_bytes;
	struct error err = { 0 };

	(void)state;
	bert_open(&fixture);
	safetensors_close(converted(&fixture));
	assert_int_equal(file_read(path, 1 << 20, &usual, &usual_bytes, &err), 0);
	rename_tensor(&fixture, "embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma");
	rename_tensor(&fixture, "embeddings.LayerNorm.bias", "embeddings.LayerNorm.beta");
	for (uint32_t i = 0; i < fixture.count; i++) {
		char name[128];

		(void)snprintf(name, sizeof(name), "bert.%.100s", fixture.name[i]);
		memcpy(fixture.name[i], name, sizeof(name));
	}
	bert_add(&fixture, 2, BERT_HIDDEN, 0, 1, "classifier.weight");
	safetensors_close(converted(&fixture));
	assert_int_equal(file_read(path, 1 << 20, &other, &other_bytes, &err), 0);
	assert_int_equal(usual_bytes, other_bytes);
	assert_memory_equal(usual, other, usual_bytes);
	bert_close(&fixture);
}

static void refused(const struct bert_fixture *fixture, const char *text)
{
	struct convert *convert = NULL;
	struct error err = { 0 };

	assert_int_equal(
		convert_open("bert", &bert_small, "f", fixture->tensor, fixture->count, &convert, &err),
		-EINVAL);
	if (!strstr(err.text, text))
		fail_msg("found \"%s\", expected \"%s\"", err.text, text);
}

static void test_tensors(void **state)
{
	struct bert_fixture fixture;
	struct convert *convert = NULL;
	struct error err = { 0 };

	(void)state;
	bert_open(&fixture);
	bert_add(&fixture, 1, BERT_POSITIONS, 0, 1, "embeddings.position_ids");
	assert_int_equal(
		convert_open("bert", &bert_small, "f", fixture.tensor, fixture.count, &convert, &err), 0);
	assert_int_equal(convert_left_out(convert), 2);
	assert_string_equal(convert_left_out_names(convert), "pooler.dense.weight, pooler.dense.bias");
	convert_close(convert);
	rename_tensor(&fixture, BERT_TYPES, "x");
	refused(&fixture,
		"f: found no tensor '" BERT_TYPES "', which 'embeddings.position_embeddings/embeddings'");
	rename_tensor(&fixture, "x", BERT_TYPES);
	rename_tensor(&fixture, "encoder.layer.1.attention.self.key.bias", "x");
	refused(&fixture, "f: found no tensor 'encoder.layer.1.attention.self.key.bias'");
	rename_tensor(&fixture, "x", "encoder.layer.1.attention.self.key.bias");
	fixture.tensor[0].shape[0] = BERT_HIDDEN;
	fixture.tensor[0].shape[1] = BERT_VOCABULARY;
	refused(&fixture, "f: embeddings.word_embeddings.weight: found the shape [16, 60], allowed");
	fixture.tensor[0].shape[0] = BERT_VOCABULARY;
	fixture.tensor[0].shape[1] = BERT_HIDDEN;
	bert_add(&fixture, 1, 1, 0, 1, "encoder.layer.2.output.dense.weight");
	refused(&fixture,
		"f: found the tensor 'encoder.layer.2.output.dense.weight', which no layer of bert has");
	bert_close(&fixture);
}

/* ---- Training ---- */

static struct model *open_training(const struct config *config, const struct safetensors *file)
{
	struct model *model = NULL;
	struct error err = { 0 };

	if (model_open(gpu, config, true, &model, &err) < 0 || model_init(model, &err) < 0)
		fail_msg("%s", err.text);
	if (file)
		load(model, file);
	return model;
}

static double train(struct model *model, uint32_t steps)
{
	static const int64_t labels[ROWS][2] = { { 1, 0 }, { 0, 1 }, { 1, 0 }, { 0, 1 } };
	struct model_metrics metrics;
	struct error err = { 0 };

	for (uint32_t i = 0; i < steps; i++) {
		const struct model_batch batch = {
			.input = { ids }, .label = labels, .rows = ROWS, .valid_rows = ROWS
		};

		if (model_metrics_reset(model, &err) < 0 || model_train(model, &batch, &err) < 0)
			fail_msg("%s", err.text);
	}
	if (model_metrics(model, &metrics, &err) < 0)
		fail_msg("%s", err.text);
	return metrics.loss;
}

static void copy_state(struct model *from, struct model *to)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;

	if (model_snapshot(from, &err) < 0 || model_snapshot_tensors(from, &tensors, &count, &err) < 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < count; i++)
		if (model_tensor_load(to, tensors[i].name, tensors[i].data, tensors[i].bytes, &err) < 0)
			fail_msg("%s", err.text);
	model_snapshot_release(from);
}

/* The loss falls, with dropout, and a run that goes on from a checkpoint has the same bits. */
static void test_training(void **state)
{
	static const char *const names[] = { "embeddings.word_embeddings/embeddings",
					     "encoder.layer.0.attention/query_kernel",
					     "encoder.layer.1.output.LayerNorm/gamma", "head/kernel" };
	static const size_t numbers[] = { BERT_VOCABULARY * BERT_HIDDEN, BERT_HIDDEN * BERT_HIDDEN,
					  BERT_HIDDEN, BERT_HIDDEN * 2 };
	struct bert_fixture fixture;
	CLEANUP(config_done) struct config config = config_of("");
	struct safetensors *file;
	struct model *straight, *resumed;
	double first;

	(void)state;
	bert_open(&fixture);
	file = converted(&fixture);
	straight = open_training(&config, file);
	resumed = open_training(&config, NULL);
	first = train(straight, 1);
	copy_state(straight, resumed);
	assert_true(train(straight, 30) < first / 2);
	(void)train(resumed, 30);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP(free_ptr) float *kept = malloc(numbers[i] * sizeof(*kept));

		if (!kept)
			abort();
		memcpy(kept, state_of(straight, names[i]), numbers[i] * sizeof(*kept));
		assert_memory_equal(kept, state_of(resumed, names[i]), numbers[i] * sizeof(*kept));
	}
	model_close(straight);
	model_close(resumed);
	safetensors_close(file);
	bert_close(&fixture);
}

static struct graph built(const struct config *config)
{
	struct error err = { 0 };
	struct graph graph;

	if (graph_build(config, true, &graph, &err) < 0)
		fail_msg("%s", err.text);
	return graph;
}

/* A frozen base learns nothing; base_unfreeze_from names a layer or all from a layer of attention on. */
static void test_frozen(void **state)
{
	const uint64_t of_layer = 4 * (BERT_HIDDEN * BERT_HIDDEN + BERT_HIDDEN) + 4 * BERT_HIDDEN +
				  2 * BERT_HIDDEN * BERT_INNER + BERT_HIDDEN + BERT_INNER,
		       of_head = 2 * (BERT_HIDDEN + 1),
		       of_embeddings = (BERT_VOCABULARY + BERT_POSITIONS + 2) * BERT_HIDDEN;
	struct config config = config_of("base_trainable = false;");
	struct graph graph = built(&config);

	(void)state;
	assert_int_equal(graph.parameters, of_head);
	assert_int_equal(graph.frozen, of_embeddings + BERT_LAYERS * of_layer);
	graph_done(&graph);
	config.model.base_unfreeze_from = "encoder.layer.1";
	graph = built(&config);
	assert_int_equal(graph.parameters, of_head + of_layer);
	assert_int_equal(graph.frozen, of_embeddings + (BERT_LAYERS - 1) * of_layer);
	graph_done(&graph);
	config_done(&config);
}

/* ---- Mistakes ---- */

static void give_three_heads(struct config *config)
{
	config->model.bert.num_attention_heads = 3;
}

static void give_few_positions(struct config *config)
{
	config->model.bert.max_position_embeddings = STEPS - 1;
}

static void give_scaling(struct config *config)
{
	config->model.base_scaling = SCALING_TF;
}

static void give_max(struct config *config)
{
	config->model.base_pooling = POOLING_MAX;
}

static void give_no_layer(struct config *config)
{
	config->model.base_trainable = false;
	config->model.base_unfreeze_from = "encoder.layer.3";
}

static void give_ragged(struct config *config)
{
	config->feature[0].padding = PADDING_NONE;
	config->feature[0].values_max = STEPS;
	config->feature[0].rank = 0;
}

static void give_padding_before(struct config *config)
{
	config->feature[0].padding = PADDING_PRE;
}

static void give_fill(struct config *config)
{
	config->feature[0].fill = 1;
}

static void test_mistakes(void **state)
{
	static const struct {
		void (*give)(struct config *config);
		const char *expected;
	} cases[] = {
		{ give_three_heads,
		  "model.bert_num_attention_heads: found 3, allowed: a divisor of bert_hidden_size, 16" },
		{ give_few_positions, "model.base: found the input 'tokens' of 8 tokens, allowed: at most "
				      "bert_max_position_embeddings, 7" },
		{ give_scaling, "model.base_scaling: allowed with model.base = \"bert\": only \"auto\"" },
		{ give_max, "model.base_pooling: found \"max\", allowed with model.base = \"bert\"" },
		{ give_no_layer,
		  "model.base_unfreeze_from: found \"encoder.layer.3\", allowed: a layer of bert" },
		{ give_ragged, "model.base: found the input 'tokens', allowed for bert: the ids of texts" },
		{ give_padding_before,
		  "model.base: found the input 'tokens' with padding = \"pre\", allowed for "
		  "bert: \"post\", because the first token of a text has the position 0" },
		{ give_fill,
		  "model.base: found the input 'tokens' with fill = 1, allowed for bert: 0, the id "
		  "of padding" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct config config = config_of("");
		struct error err = { 0 };
		struct graph graph;

		cases[i].give(&config);
		assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
		if (!strstr(err.text, cases[i].expected))
			fail_msg("found \"%s\", expected \"%s\"", err.text, cases[i].expected);
		config_done(&config);
	}
}

/* Records whose ids another program has padded with 0 need no padding of Kiln's. */
static void test_no_padding(void **state)
{
	struct config config = config_of("");
	struct graph graph;

	(void)state;
	config.feature[0].padding = PADDING_NONE;
	graph = built(&config);
	graph_done(&graph);
	config_done(&config);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),     cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_vectors),    cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_tensors),    cmocka_unit_test(test_training),
		cmocka_unit_test(test_frozen),     cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_no_padding),
	};
	int failed, fd = mkstemp(path);

	if (fd < 0)
		abort();
	(void)close(fd);
	gpu = open_device();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	close_device(gpu);
	(void)unlink(path);
	return failed;
}
