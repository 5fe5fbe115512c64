/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables whose rows are named by ids, in a whole model: the next step clears the gradients of one step, a
 * long batch is sorted like a short one, a wrong id ends the run, and wrong splits are refused.
 */
#include "tests/reference.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    70u /* more than the items that look for a wrong id */
#define CLASSES 3u
#define IDS     60u
#define TOKENS  100u
#define TABLE   70000u /* ids of three bytes: three passes of the sort */
#define STEPS   4u

static struct gpu *gpu;
static int64_t ids[STEPS][ROWS * IDS] __attribute__((aligned(4096)));
static int64_t tokens[STEPS][ROWS * TOKENS] __attribute__((aligned(4096)));
static int64_t splits[STEPS][ROWS + 1] __attribute__((aligned(4096)));
static int64_t label[ROWS * CLASSES] __attribute__((aligned(4096)));

#define TABLE_OF(ids, columns) INT_ATTRIBUTE("input_dim", ids), INT_ATTRIBUTE("output_dim", columns)
static struct config_layer layers[] = {
	NAMED("embedding_bag", "bag", INPUTS_OF(1, "tokens"), ATTRIBUTES(2, TABLE_OF(TABLE, 5))),
	NAMED("embedding", "places", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(300, 2))),
	OP("flatten"),
	OP("concatenate", INPUTS_OF(2, "bag", "flatten")),
	DENSE(3),
	SOFTMAX
};

static struct config tables_config(void)
{
	struct config config = model_config(layers, sizeof(layers) / sizeof(*layers), TOKENS, CLASSES, ROWS);

	config.features = 3;
	config.feature[0] =
		(struct config_feature){ .name = "tokens", .dtype = CONFIG_INT64, .values_max = TOKENS };
	config.feature[2] =
		(struct config_feature){ .name = "ids", .dtype = CONFIG_INT64, .rank = 1, .shape = { IDS } };
	config.model.input = "tokens";
	return config;
}

/* Few ids that many positions name, and many ids that few positions name; lengths differ from step to
 * step. */
static void fill_ids(void)
{
	for (uint32_t step = 0; step < STEPS; step++) {
		uint64_t state = 7 + step;

		for (uint32_t i = 0; i < ROWS * TOKENS; i++)
			tokens[step][i] = (int64_t)(fabs(noise(&state)) * (i % 3 ? TABLE : 9));
		for (uint32_t i = 0; i < ROWS * IDS; i++)
			ids[step][i] = (int64_t)(fabs(noise(&state)) * 300);
		for (uint32_t r = 0; r < ROWS; r++)
			splits[step][r + 1] = splits[step][r] + (r * 13 + step * 31) % (TOKENS + 1);
	}
	for (uint32_t r = 0; r < ROWS; r++)
		label[r * CLASSES + r % CLASSES] = 1;
}

static struct model_batch batch_at(uint64_t step)
{
	return (struct model_batch){ .input = { tokens[step], splits[step], ids[step] },
				     .label = label,
				     .rows = ROWS,
				     .valid_rows = ROWS,
				     .first_row = 1000 };
}

static struct model *open_model(const struct config *config, bool training)
{
	struct error err = { 0 };
	struct model *model = NULL;

	harness_must(model_open(gpu, config, training, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	return model;
}

static void must_be_near(struct model *model, const struct reference *reference, uint64_t step)
{
	const struct graph *graph = &model->graph;
	/* In steps without an update the reference has the gradients of this batch only. */
	const bool update = (step + 1) % graph->config->optimizer.gradient_accumulation_steps == 0;

	for (uint32_t i = 0; i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);
		float *found;
		struct error err = { 0 };

		if (tensor->role != ROLE_PARAMETER)
			continue;
		found = malloc(tensor->bytes);
		assert_non_null(found);
		harness_must(
			gpu_read(gpu, model->buffer[tensor->gradient], 0, found, tensor->bytes, NULL, &err),
			&err);
		for (uint64_t e = 0; update && e < tensor->elements; e++)
			if (fabs((double)found[e] - reference->gradient[i][e]) >
			    1e-7 + 1e-5 * fabs(reference->gradient[i][e]))
				fail_msg("step %" PRIu64 ": gradient of %s[%" PRIu64 "] is %g, not %g", step,
					 tensor->name, e, (double)found[e], reference->gradient[i][e]);
		harness_must(gpu_read(gpu, model->buffer[i], 0, found, tensor->bytes, NULL, &err), &err);
		for (uint64_t e = 0; e < tensor->elements; e++)
			if (fabs((double)found[e] - reference->value[i][e]) > 2e-5)
				fail_msg("step %" PRIu64 ": %s[%" PRIu64 "] is %g, not %g", step,
					 tensor->name, e, (double)found[e], reference->value[i][e]);
		free(found);
	}
}

static void follows_reference(const struct config *config)
{
	struct model *model = open_model(config, true);
	const struct model_tensor *tensors;
	struct reference reference;
	struct error err = { 0 };
	uint32_t count;

	reference_open(&reference, &model->graph);
	harness_must(model_snapshot(model, &err), &err);
	harness_must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	reference_load(&reference, tensors, count);
	model_snapshot_release(model);
	for (uint64_t step = 0; step < STEPS; step++) {
		const struct model_batch batch = batch_at(step);
		struct model_metrics metrics;

		reference_train(&reference, &batch, step);
		harness_must(model_train(model, &batch, &err), &err);
		harness_must(model_metrics(model, &metrics, &err), &err);
		must_be_near(model, &reference, step);
	}
	reference_close(&reference);
	model_close(model);
}

/* Adam's first steps have the size of the learning rate, whatever the gradient: use SGD to see gradients. */
static void test_follows_reference(void **state)
{
	struct config config = tables_config();

	(void)state;
	follows_reference(&config);
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.5;
	follows_reference(&config);
}

/* Other sources of gradients for rows that no id names. */
static void test_everything_is_cleared(void **state)
{
	struct config_layer penalized[sizeof(layers) / sizeof(*layers)];
	struct config config = tables_config();

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.5;
	config.optimizer.gradient_accumulation_steps = 2;
	follows_reference(&config);
	config.optimizer.gradient_accumulation_steps = 1;
	config.optimizer.global_clipnorm = 0.01;
	follows_reference(&config);
	memcpy(penalized, layers, sizeof(layers));
	penalized[0].attribute[penalized[0].attributes++] =
		(struct config_attribute)FLOAT_ATTRIBUTE("embeddings_l2", 0.01);
	config.model.layer = penalized;
	follows_reference(&config);
}

static void test_same_bits(void **state)
{
	const struct config config = tables_config();
	static float table[2][TABLE * 5];

	(void)state;
	for (uint32_t run = 0; run < 2; run++) {
		struct model *model = open_model(&config, true);
		struct error err = { 0 };

		for (uint64_t step = 0; step < STEPS; step++) {
			const struct model_batch batch = batch_at(step);

			harness_must(model_train(model, &batch, &err), &err);
		}
		harness_must(gpu_read(gpu, model->buffer[model->graph.node[0].parameter[0]], 0, table[run],
				      sizeof(table[run]), NULL, &err),
			     &err);
		model_close(model);
	}
	assert_memory_equal(table[0], table[1], sizeof(table[0]));
}

/* ---- Lazy Adam: rows that no id names do not change, the others are updated as by Adam ---- */

enum { VALUE, GRADIENT, MOMENT, VELOCITY, KINDS };

/* Copies a parameter, or a tensor that belongs to it; the caller frees the copy. */
static float *fetch(struct model *model, uint32_t parameter, unsigned kind)
{
	static const char *const slots[KINDS] = { [MOMENT] = "m", [VELOCITY] = "v" };
	const struct graph *graph = &model->graph;
	const struct tensor *tensor = graph_at(graph, parameter);
	uint32_t from = kind == GRADIENT ? tensor->gradient : parameter;
	float *numbers = malloc(tensor->bytes);
	char name[GRAPH_NAME_BYTES];
	struct error err = { 0 };

	(void)snprintf(name, sizeof(name), "optimizer/%s/%.100s", slots[kind] ? slots[kind] : "",
		       tensor->name);
	for (uint32_t i = 0; slots[kind] && i < graph->tensors; i++)
		from = strcmp(graph_at(graph, i)->name, name) ? from : i;
	assert_non_null(numbers);
	assert_true(!slots[kind] || from != parameter);
	harness_must(gpu_read(gpu, model->buffer[from], 0, numbers, tensor->bytes, NULL, &err), &err);
	return numbers;
}

/* Marks the rows of a table that the batch of this step names. */
static const uint8_t *named_by(const struct tensor *table, uint64_t step)
{
	static uint8_t named[TABLE];
	const bool bag = strncmp(table->name, "bag/", 4) == 0;
	const uint64_t count = bag ? (uint64_t)splits[step][ROWS] : ROWS * (uint64_t)IDS;

	memset(named, 0, sizeof(named));
	for (uint64_t i = 0; i < count; i++)
		named[bag ? tokens[step][i] : ids[step][i]] = 1;
	return named;
}

static void follows_lazily(const struct config *config, struct model *model, uint32_t parameter,
			   uint64_t step, float *const before[KINDS])
{
	const struct tensor *tensor = graph_at(&model->graph, parameter);
	const bool table = strstr(tensor->name, "embeddings") != NULL;
	const double rate = config->optimizer.learning_rate,
		     decay = rate * optimizer_weight_decay(config, model->graph.optimizer);
	const uint64_t columns = tensor_last(tensor);
	float *after[KINDS];
	const uint8_t *named = table ? named_by(tensor, step) : NULL;

	for (unsigned kind = 0; kind < KINDS; kind++)
		after[kind] = fetch(model, parameter, kind);
	for (uint64_t e = 0; e < tensor->elements; e++) {
		double g = (double)after[GRADIENT][e], w = (double)before[VALUE][e] * (1 - decay),
		       m = (double)before[MOMENT][e], v = (double)before[VELOCITY][e];

		if (!named || named[e / columns]) {
			model->graph.optimizer->reference(config, rate, step + 1, 1, &g, &w, &m, &v);
			assert_near(after[VALUE][e], w, 1e-6);
			assert_near(after[MOMENT][e], m, 1e-6 * (fabs(g) + fabs((double)before[MOMENT][e])));
			assert_near(after[VELOCITY][e], v, 1e-6 * (g * g + (double)before[VELOCITY][e]));
		} else {
			assert_memory_equal(&after[VALUE][e], &before[VALUE][e], 4);
			assert_memory_equal(&after[MOMENT][e], &before[MOMENT][e], 4);
			assert_memory_equal(&after[VELOCITY][e], &before[VELOCITY][e], 4);
		}
	}
	for (unsigned kind = 0; kind < KINDS; kind++)
		free(after[kind]);
}

static void train_lazily(const struct config *config)
{
	struct model *model = open_model(config, true);
	const struct graph *graph = &model->graph;

	for (uint64_t step = 0; step < STEPS; step++) {
		const struct model_batch batch = batch_at(step);
		float **before = calloc(graph->tensors + 1u, sizeof(float *) * KINDS);
		struct model_metrics metrics;
		struct error err = { 0 };

		assert_non_null(before);
		for (uint32_t i = 0; i < graph->tensors; i++)
			for (unsigned kind = 0; graph_at(graph, i)->role == ROLE_PARAMETER && kind < KINDS;
			     kind++)
				before[i * KINDS + kind] = fetch(model, i, kind);
		harness_must(model_train(model, &batch, &err), &err);
		harness_must(model_metrics(model, &metrics, &err), &err);
		for (uint32_t i = 0; i < graph->tensors; i++)
			if (graph_at(graph, i)->role == ROLE_PARAMETER)
				follows_lazily(config, model, i, step, &before[i * KINDS]);
		for (uint32_t i = 0; i < graph->tensors * KINDS; i++)
			free(before[i]);
		free(before);
	}
	model_close(model);
}

static void test_lazy(void **state)
{
	struct config_layer whole[sizeof(layers) / sizeof(*layers)];
	struct config config = tables_config();

	(void)state;
	config.optimizer.lazy = true;
	config.optimizer.learning_rate = 0.01;
	train_lazily(&config);
	config.optimizer.name = "adamw";
	config.optimizer.weight_decay = 0.1;
	config.optimizer.clipvalue = 1;
	train_lazily(&config);
	/* Rows that GPUs access in vectors of four. */
	memcpy(whole, layers, sizeof(layers));
	whole[0].attribute[1] = (struct config_attribute)INT_ATTRIBUTE("output_dim", 8);
	config.model.layer = whole;
	train_lazily(&config);
}

static void test_lazy_fault(void **state)
{
	struct config config = tables_config();
	const struct model_batch batch = batch_at(0);
	/* Weight decay subtracts a thousand times as much. The first of several elements is reported. */
	const float wild[] = { 3e37f, 3e37f, 3e37f, 3e37f, 3e37f };
	const uint64_t row = (uint64_t)tokens[0][0];
	struct model_metrics metrics;
	struct model *model;
	struct error err = { 0 };
	char text[100];

	(void)state;
	config.optimizer.name = "adamw";
	config.optimizer.lazy = true;
	config.optimizer.learning_rate = 1;
	config.optimizer.weight_decay = 1e3;
	model = open_model(&config, true);
	harness_must(gpu_write(gpu, model->buffer[model->graph.node[0].parameter[0]], row * 5 * sizeof(float),
			       wild, sizeof(wild), true, &err),
		     &err);
	harness_must(model_train(model, &batch, &err), &err);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	(void)snprintf(text, sizeof(text),
		       "step 1: bag/embeddings became NaN or infinite, first seen in element %" PRIu64,
		       row * 5);
	if (!strstr(err.text, text))
		fail_msg("%s: not \"%s\"", err.text, text);
	model_close(model);
}

static void test_lazy_refused(void **state)
{
	struct config config = tables_config();
	struct graph graph;
	struct error err = { 0 };

	(void)state;
	config.optimizer.lazy = true;
	config.optimizer.name = "sgd";
	config.optimizer.gradient_accumulation_steps = 2;
	assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
	assert_non_null(strstr(
		err.text,
		"optimizer.lazy: found true, which nothing reads, allowed: with optimizer.name = \"adam\" "));
	assert_non_null(strstr(err.text,
			       "optimizer.lazy: found beside optimizer.gradient_accumulation_steps above 1, "
			       "allowed: one of them"));
}

/* ---- Bad input ---- */

/* Sets position `place` of row 5, in the bag's tokens or else in the ids. */
static const struct {
	bool of_tokens;
	int64_t found;
	const char *text;
} wrong[] = {
	{ true, TABLE,
	  "row 1005 of the pass, 5 of its batch: layer 'bag': found id 70000, allowed: 0 .. 69999" },
	{ true, -1, "row 1005 of the pass, 5 of its batch: layer 'bag': found id -1, allowed: 0 .. 69999" },
	{ false, 300,
	  "row 1005 of the pass, 5 of its batch: layer 'places': found id 300, allowed: 0 .. 299" },
	{ false, INT64_MIN,
	  "row 1005 of the pass, 5 of its batch: layer 'places': found id -9223372036854775808, allowed: 0 "
	  ".. 299" },
};

static void test_wrong_id(void **state)
{
	const struct config config = tables_config();

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(wrong) / sizeof(*wrong); i++) {
		int64_t *at = wrong[i / 2].of_tokens ? &tokens[0][splits[0][5] + 3] : &ids[0][5 * IDS + 59];
		const int64_t kept = *at;
		struct model *model = open_model(&config, true);
		const struct model_batch batch = batch_at(0);
		struct model_metrics metrics;
		struct error err = { 0 };
		char text[200];

		*at = wrong[i / 2].found;
		harness_must(i % 2 ? model_evaluate(model, &batch, &err) : model_train(model, &batch, &err),
			     &err);
		assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
		(void)snprintf(text, sizeof(text), "step %d: %s", i % 2 ? 0 : 1, wrong[i / 2].text);
		assert_string_equal(err.text, text);
		*at = kept;
		assert_int_equal(model_train(model, &batch, &err), -EDOM);
		model_close(model);
	}
}

/* Makes the last id of a row wrong in step 0, and expects that a pass names row `named`. */
static void must_name(uint32_t row, uint32_t named)
{
	const struct config config = tables_config();
	struct model *model = open_model(&config, true);
	const struct model_batch batch = batch_at(0);
	struct model_metrics metrics;
	struct error err = { 0 };
	char text[100];

	ids[0][row * IDS + IDS - 1] = 300 + row;
	harness_must(model_train(model, &batch, &err), &err);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	(void)snprintf(text, sizeof(text), "%u of its batch: layer 'places': found id %u,", named,
		       300 + named);
	if (!strstr(err.text, text))
		fail_msg("%s: not \"%s\"", err.text, text);
	model_close(model);
}

static void test_first_wrong_row(void **state)
{
	const size_t bytes = sizeof(ids[0]);
	int64_t *kept = malloc(bytes);

	(void)state;
	assert_non_null(kept);
	memcpy(kept, ids[0], bytes);
	must_name(ROWS - 1, ROWS - 1);
	must_name(64, 64);
	must_name(7, 7);
	must_name(9, 7);
	must_name(0, 0);
	memcpy(ids[0], kept, bytes);
	free(kept);
}

static void test_wrong_id_predicted(void **state)
{
	const struct config config = tables_config();
	struct model *model = open_model(&config, false);
	const void *const input[] = { tokens[0], splits[0], ids[0] };
	float output[ROWS * CLASSES];
	struct error err = { 0 };
	const int64_t kept = tokens[0][splits[0][5]];

	(void)state;
	harness_must(model_predict(model, input, ROWS, output, &err), &err);
	tokens[0][splits[0][5]] = -4;
	assert_int_equal(model_predict(model, input, ROWS, output, &err), -EDOM);
	assert_non_null(strstr(err.text, "5 of its batch: layer 'bag': found id -4, allowed: 0 .. 69999"));
	tokens[0][splits[0][5]] = kept;
	model_close(model);
}

static void test_wrong_splits(void **state)
{
	static const struct {
		uint32_t row;
		int64_t found;
		const char *text;
	} cases[] = {
		{ 0, 1, "tokens/values: row 0 begins at 1, allowed: 0 .. 0" },
		{ 2, 0, "tokens/values: row 2 begins at 0, allowed: 44 .. 7000" },
		{ 3, 7001, "tokens/values: row 3 begins at 7001, allowed: " },
		{ ROWS, INT64_MIN, "tokens/values: row 70 begins at -9223372036854775808, allowed: " },
	};
	const struct config config = tables_config();
	struct model *model = open_model(&config, true);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct model_batch batch = batch_at(1);
		const int64_t kept = splits[1][cases[i].row];
		struct error err = { 0 };

		splits[1][1] = 44;
		splits[1][cases[i].row] = cases[i].found;
		assert_int_equal(model_train(model, &batch, &err), -EBADMSG);
		if (strncmp(err.text, cases[i].text, strlen(cases[i].text)) != 0)
			fail_msg("found \"%s\"\nwanted \"%s\"", err.text, cases[i].text);
		splits[1][cases[i].row] = kept;
	}
	model_close(model);
}

/* A checkpoint can be loaded whatever the batch is. */
static void test_hash_is_without_rows(void **state)
{
	struct config config = tables_config();
	struct graph one, other;
	struct error err = { 0 };

	(void)state;
	harness_must(graph_build(&config, true, &one, &err), &err);
	config.run.batch_rows = 7;
	config.feature[0].values_max = 55;
	harness_must(graph_build(&config, true, &other, &err), &err);
	assert_string_equal(one.hash, other.hash);
	graph_done(&one);
	graph_done(&other);
}

static void refuse(struct config_layer *layer, uint32_t count, const char *text)
{
	struct config config = tables_config();
	struct graph graph;
	struct error err = { 0 };

	config.model.layer = layer;
	config.model.layers = count;
	assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("found \"%s\"\nwanted \"%s\"", err.text, text);
}

static void test_refused(void **state)
{
	static struct config_layer large[] = { OP("embedding_bag", ATTRIBUTES(2, TABLE_OF(1 << 28, 8))),
					       DENSE(3), SOFTMAX };
	static struct config_layer dense_bag[] = {
		OP("embedding_bag", INPUTS_OF(1, "ids"), ATTRIBUTES(2, TABLE_OF(9, 8))), DENSE(3), SOFTMAX
	};
	static struct config_layer ragged[] = { OP("embedding", ATTRIBUTES(2, TABLE_OF(9, 8))), DENSE(3),
						SOFTMAX };

	(void)state;
	refuse(large, 3,
	       "found input_dim 268435456 times output_dim 8, allowed: a table of at most 2147483647");
	refuse(dense_bag, 3, "found 'ids' of I64, allowed for embedding_bag: ragged I64");
	refuse(ragged, 3, "found 'tokens/values' of ragged I64, allowed for embedding: I64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows_reference),
		cmocka_unit_test(test_everything_is_cleared),
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_lazy_fault),
		cmocka_unit_test(test_lazy_refused),
		cmocka_unit_test(test_wrong_id),
		cmocka_unit_test(test_first_wrong_row),
		cmocka_unit_test(test_wrong_id_predicted),
		cmocka_unit_test(test_wrong_splits),
		cmocka_unit_test(test_hash_is_without_rows),
		cmocka_unit_test(test_refused),
	};
	int failed;

	gpu = open_device();
	fill_ids();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	close_device(gpu);
	return failed;
}
