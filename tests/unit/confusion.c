/* SPDX-License-Identifier: Apache-2.0 */
/* The confusion matrix that the device counts, beside the one that metrics.h makes of the predictions of the
 * same rows: every kind of label, rows that do not count, passes, and networks without a matrix. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"

#define ROWS    48u
#define INPUTS  3u
#define CLASSES 4u

static float input[ROWS * INPUTS] __attribute__((aligned(4096)));
static float real[ROWS * CLASSES] __attribute__((aligned(4096)));
static int64_t whole[ROWS * CLASSES] __attribute__((aligned(4096)));
static uint8_t empty[ROWS] __attribute__((aligned(4096)));

static struct config_layer softmax[] = { DENSE(CLASSES), SOFTMAX };
static struct config_layer sigmoid[] = { DENSE(CLASSES), { .op = "sigmoid", .name = "", .line = 6 } };
static struct config_layer one[] = { DENSE(1), { .op = "sigmoid", .name = "", .line = 6 } };

struct network {
	const char *loss;
	struct config_layer *layer;
	bool real, one_number; /* the label is float32; the label has one number */
};

static struct config config_of(const struct network *network)
{
	struct config config = model_config(network->layer, 2, INPUTS, CLASSES, ROWS);

	config.feature[1].dtype = network->real ? CONFIG_FLOAT32 : CONFIG_INT64;
	config.feature[1].shape[0] = network->one_number ? 1 : CLASSES;
	config.feature[1].rank = 1;
	config.model.loss = network->loss;
	return config;
}

/* Gives row r the class r % 3, so that no label names the last of four classes. */
static void fill_labels(const struct network *network)
{
	const uint64_t numbers = network->one_number ? 1 : CLASSES;

	for (uint32_t i = 0; i < ROWS * numbers; i++) {
		const uint32_t row = (uint32_t)(i / numbers), class = row % 3;

		whole[i] = !network->one_number    ? i % CLASSES == class
			   : network->layer == one ? class == 1
						   : class;
		real[i] = (float)whole[i];
	}
}

static struct model_batch batch_of(const struct network *network)
{
	return (struct model_batch){ .input = { input },
				     .label = network->real ? (const void *)real : whole,
				     .rows = ROWS,
				     .valid_rows = ROWS };
}

static struct model *open_model(const struct config *config)
{
	struct model *model = NULL;
	struct error err = { 0 };

	harness_must(model_open(gpu, config, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	return model;
}

/* Fails unless the device's matrix is that of the model's predictions of `times` equal batches. */
static void compare(struct model *model, const struct config *config, const struct model_batch *batch,
		    uint32_t times)
{
	const struct metrics_shape shape = metrics_shape_of(config, model_classes(model));
	CLEANUP(metrics_closep) struct metrics *metrics = NULL;
	CLEANUP(free_ptr) uint32_t *counted = NULL;
	float outputs[ROWS * CLASSES];
	const struct metrics_batch seen = {
		.rows = batch->rows, .prediction = outputs, .label = batch->label, .empty = batch->empty
	};
	struct model_metrics sums;
	struct error err = { 0 };
	uint64_t classes, expected_classes;
	const double *expected;
	double hits = 0;

	harness_must(model_predict(model, batch->input, batch->rows, outputs, &err), &err);
	harness_must(metrics_open(&shape, &metrics, &err), &err);
	for (uint32_t i = 0; i < times; i++)
		harness_must(metrics_add(metrics, &seen, &err), &err);
	expected = metrics_confusion(metrics, &expected_classes);
	harness_must(model_confusion(model, &counted, &classes, &err), &err);
	assert_int_equal(classes, expected_classes);
	for (uint64_t i = 0; i < classes * classes; i++)
		assert_true(counted[i] == expected[i]);
	for (uint64_t i = 0; i < classes; i++)
		hits += counted[i * classes + i];
	harness_must(model_metrics(model, &sums, &err), &err);
	assert_true(sums.rows == 0 || hits == round(sums.accuracy * (double)sums.rows));
}

static const struct network networks[] = {
	{ "sparse_categorical_crossentropy", softmax, false, true },
	{ "categorical_crossentropy", softmax, false, false },
	{ "categorical_crossentropy", softmax, true, false },
	{ "binary_crossentropy", one, false, true },
	{ "binary_crossentropy", one, true, true },
};

static void test_as_the_predictions(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(networks) / sizeof(*networks); n++) {
		const struct config config = config_of(&networks[n]);
		struct model *model = open_model(&config);
		struct model_batch batch = batch_of(&networks[n]);
		struct error err = { 0 };

		fill_labels(&networks[n]);
		compare(model, &config, &batch, 0);
		/* A training step does not count. */
		harness_must(model_train(model, &batch, &err), &err);
		harness_must(model_metrics_reset(model, &err), &err);
		compare(model, &config, &batch, 0);
		harness_must(model_evaluate(model, &batch, &err), &err);
		harness_must(model_evaluate(model, &batch, &err), &err);
		compare(model, &config, &batch, 2);
		/* Another pass begins at zero, with fewer rows, of which some do not count. */
		harness_must(model_metrics_reset(model, &err), &err);
		batch.rows = ROWS - 5;
		batch.valid_rows = batch.rows - 2;
		batch.empty = empty;
		whole[2 * (networks[n].one_number ? 1 : CLASSES)] = 99; /* a row that does not count */
		harness_must(model_evaluate(model, &batch, &err), &err);
		whole[2 * (networks[n].one_number ? 1 : CLASSES)] = 0;
		compare(model, &config, &batch, 1);
		model_close(model);
	}
}

/* Several answers at once, and numbers, have no matrix. */
static void test_without_a_matrix(void **state)
{
	static const struct network without[] = { { "binary_crossentropy", sigmoid, false, false },
						  { "mean_squared_error", softmax, true, false } };

	(void)state;
	for (size_t n = 0; n < sizeof(without) / sizeof(*without); n++) {
		const struct config config = config_of(&without[n]);
		struct model *model = open_model(&config);
		const struct model_batch batch = batch_of(&without[n]);
		uint32_t *matrix = NULL;
		uint64_t classes = 1;
		struct error err = { 0 };

		fill_labels(&without[n]);
		harness_must(model_evaluate(model, &batch, &err), &err);
		harness_must(model_confusion(model, &matrix, &classes, &err), &err);
		assert_null(matrix);
		assert_int_equal(classes, 0);
		model_close(model);
	}
}

static int open_all(void **state)
{
	uint64_t seed = 20;

	(void)state;
	open_kernels();
	empty[2] = empty[9] = 1;
	for (uint32_t i = 0; i < ROWS * INPUTS; i++)
		input[i] = (float)noise(&seed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_predictions),
		cmocka_unit_test(test_without_a_matrix),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
