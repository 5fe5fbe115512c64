/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics that normalization layers compute from the data, compared with two passes over the data in
 * float64. */
#include "model/adapt.h"
#include "model/weights.h"
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/state_of.h"

#define ROWS    7u
#define BATCHES 5u
#define INPUTS  6u
#define CLASSES 2u

static struct gpu *gpu;
/* The numbers as they come, and as pairs: each layer computes statistics over the last dimension. */
static struct config_layer layers[] = {
	NAMED("normalization", "norm"),
	NAMED("reshape", "pairs", INPUTS_OF(1, "sentence"),
	      ATTRIBUTES(1, INTS_ATTRIBUTE("target_shape", 2, 3, 2))),
	DROPOUT(0.5), /* outside training it is nothing, so statistics are those of the data */
	NAMED("normalization", "norm_pairs"),
	OP("flatten"),
	OP("add", INPUTS_OF(2, "norm", "flatten")),
	DENSE(2),
	SOFTMAX,
};
static struct config_layer inner[] = { DENSE(3), OP("normalization"), DENSE(2), SOFTMAX };

static float numbers[BATCHES][ROWS * INPUTS];
static uint8_t empty[ROWS];

/* The columns have large means and a small spread. */
static void fill(void)
{
	uint64_t state = 1;

	for (uint32_t b = 0; b < BATCHES; b++)
		for (uint32_t i = 0; i < ROWS * INPUTS; i++)
			numbers[b][i] = (float)(1000 * (i % INPUTS) + noise(&state));
}

static struct model_batch batch_of(uint32_t b)
{
	return (struct model_batch){ .input = { numbers[b] },
				     .empty = b == 1 ? empty : NULL,
				     .rows = b + 1 == BATCHES ? ROWS - 1 : ROWS,
				     .first_row = b * (uint64_t)ROWS };
}

static bool counts(uint32_t b, uint32_t row)
{
	const struct model_batch batch = batch_of(b);

	return row < batch.rows && !(batch.empty && batch.empty[row]);
}

/* Returns the mean of (x - from)^power over the numbers of a column. */
static double moment(uint32_t column, uint32_t columns, double from, int power)
{
	double sum = 0, count = 0;

	for (uint32_t b = 0; b < BATCHES; b++)
		for (uint32_t i = 0; i < ROWS * INPUTS; i++)
			if (counts(b, i / INPUTS) && i % columns == column) {
				sum += pow((double)numbers[b][i] - from, power);
				count++;
			}
	return sum / count;
}

static void look(struct model *model, const char *layer, uint32_t columns)
{
	char mean[64], variance[64];

	(void)snprintf(mean, sizeof(mean), "%s/mean", layer);
	(void)snprintf(variance, sizeof(variance), "%s/variance", layer);
	for (uint32_t c = 0; c < columns; c++) {
		const double middle = moment(c, columns, 0, 1), spread = moment(c, columns, middle, 2);

		assert_near(state_of(model, mean)[c], middle, 1e-6 * (fabs(middle) + 1));
		assert_near(state_of(model, variance)[c], spread, 1e-6 * spread);
	}
}

static void test_statistics(void **state)
{
	const struct config config = model_config(layers, 8, INPUTS, CLASSES, ROWS);
	CLEANUP(adapt_closep) struct adapt *adapt = NULL;
	struct model *model = NULL;
	struct model_batch batch;
	struct error err = { 0 };

	(void)state;
	empty[3] = 1;
	assert_int_equal(model_open(gpu, &config, true, &model, &err), 0);
	assert_int_equal(model_init(model, &err), 0);
	assert_int_equal(adapt_open(model_graph(model), NULL, &adapt, &err), 0);
	assert_int_equal(adapt_end(adapt, model, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "found no rows, so norm/mean is not known"));
	/* An interrupted pass has no effect. */
	batch = batch_of(0);
	assert_int_equal(adapt_batch(adapt, &batch, &err), 0);
	for (uint32_t b = 0; b < BATCHES; b++) {
		batch = batch_of(b);
		assert_int_equal(adapt_batch(adapt, &batch, &err), 0);
	}
	assert_int_equal(adapt_rows(adapt), BATCHES * ROWS - 2);
	assert_int_equal(adapt_end(adapt, model, &err), 0);
	look(model, "norm", INPUTS);
	look(model, "norm_pairs", 2);
	model_close(model);
}

static void test_not_a_number(void **state)
{
	const struct config config = model_config(layers, 8, INPUTS, CLASSES, ROWS);
	CLEANUP(graph_done) struct graph graph = { 0 };
	CLEANUP(adapt_closep) struct adapt *adapt = NULL;
	struct model_batch batch = batch_of(2);
	struct error err = { 0 };

	(void)state;
	numbers[2][4 * INPUTS + 5] = INFINITY;
	assert_int_equal(graph_build(&config, true, &graph, &err), 0);
	assert_int_equal(adapt_open(&graph, NULL, &adapt, &err), 0);
	batch.part = (struct order_part){ .lanes = 3, .first = 1, .own = 1, .lane_rows = ROWS };
	assert_int_equal(adapt_batch(adapt, &batch, &err), -EDOM);
	assert_non_null(strstr(err.text, "row 27 of the training split, 4 of its batch: feature 'sentence'"));
	batch.part = (struct order_part){ 0 };
	assert_int_equal(adapt_batch(adapt, &batch, &err), -EDOM);
	assert_string_equal(err.text,
			    "row 18 of the training split, 4 of its batch: feature 'sentence': found inf in "
			    "number 5, allowed: finite numbers");
	fill();
}

/* Data from a layer that changes while it learns has no fixed statistics: they must be given. */
static void test_which_layers(void **state)
{
	struct config config = model_config(inner, 4, INPUTS, CLASSES, ROWS);
	struct weights_pair pair[] = { { .name = "normalization/mean" },
				       { .name = "normalization/variance" } };
	struct weights given = { .matched = 1, .pair = pair };
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct adapt *adapt = NULL;
	struct error err = { 0 }, said = { 0 };
	struct mistakes mistakes = { .file = "k.conf", .err = &said };

	(void)state;
	config.model.weights = "";
	graph_check(&config, &mistakes);
	assert_int_equal(mistakes.count, 1);
	assert_non_null(
		strstr(said.text, "model.layers.inputs: found the input 'dense', allowed: a feature"));
	assert_int_equal(graph_build(&config, true, &graph, &err), 0);
	assert_int_equal(adapt_open(&graph, NULL, &adapt, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "layer 'normalization': found the input 'dense', allowed: a feature"));
	assert_int_equal(adapt_open(&graph, &given, &adapt, &err), -EINVAL);
	given.matched = 2;
	assert_int_equal(adapt_open(&graph, &given, &adapt, &err), 0);
	assert_null(adapt);
}

/* Statistics in the configuration hold from the start, for all columns, and need no data. */
static void test_given(void **state)
{
	static struct config_layer given[] = {
		OP("normalization",
		   ATTRIBUTES(2, FLOAT_ATTRIBUTE("mean", 0.5), FLOAT_ATTRIBUTE("variance", 4))),
		DENSE(2),
		SOFTMAX,
	};
	struct config config = model_config(given, 3, INPUTS, CLASSES, ROWS);
	CLEANUP(graph_done) struct graph graph = { 0 };
	struct adapt *adapt = NULL;
	struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(model_open(gpu, &config, true, &model, &err), 0);
	assert_int_equal(model_init(model, &err), 0);
	assert_int_equal(adapt_open(model_graph(model), NULL, &adapt, &err), 0);
	assert_null(adapt);
	for (uint32_t c = 0; c < INPUTS; c++) {
		assert_near(state_of(model, "normalization/mean")[c], 0.5, 0);
		assert_near(state_of(model, "normalization/variance")[c], 4, 0);
	}
	model_close(model);
	given[0].attributes = 1;
	assert_int_equal(graph_build(&config, true, &graph, &err), -EINVAL);
	assert_non_null(strstr(err.text, "found mean 0.5 without a variance, allowed: both or neither"));
}

static int setup(void **state)
{
	(void)state;
	gpu = open_device();
	fill();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_not_a_number),
		cmocka_unit_test(test_which_layers),
		cmocka_unit_test(test_given),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
