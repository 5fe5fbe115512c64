/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of an evaluation against values of Keras 3.15 on the same rows, with and without weights, by class
 * and by output. Those of F1 are of scikit-learn 1.9. Needs no device. */
#include "tests/reference.h"

#include "model/learn/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    500u
#define CLASSES 4u

static float prediction[ROWS * CLASSES], weight[ROWS], real[ROWS * CLASSES];
static int64_t class[ROWS], hot[ROWS * CLASSES];

static struct metrics *open_metrics(const struct metrics_shape *shape)
{
	struct metrics *metrics = NULL;
	struct error err = { 0 };

	harness_must(metrics_open(shape, &metrics, &err), &err);
	return metrics;
}

/* Adds the rows in uneven batches, which must not change the sums. */
static void add(struct metrics *metrics, const struct metrics_shape *shape, const void *label, bool weighted)
{
	const uint64_t bytes = shape->label_elements * (shape->label_dtype == CONFIG_INT64 ? 8 : 4);
	struct error err = { 0 };

	for (uint64_t first = 0, rows; first < ROWS; first += rows) {
		rows = ROWS - first < 77 ? ROWS - first : 77;
		const struct metrics_batch batch = { .rows = rows,
						     .prediction = prediction + first * shape->outputs,
						     .label = (const uint8_t *)label + first * bytes,
						     .weight = weighted ? weight + first : NULL };

		harness_must(metrics_add(metrics, &batch, &err), &err);
	}
}

struct expected {
	const char *name;
	double plain, weighted;
};

static void compare(const struct metrics_shape *shape, const void *label, const struct expected *expected,
		    uint32_t count)
{
	for (int weighted = 0; weighted < 2; weighted++) {
		struct metrics *metrics = open_metrics(shape);
		struct metrics_value value[METRICS_VALUES_MAX];

		add(metrics, shape, label, weighted);
		assert_int_equal(metrics_values(metrics, value), count);
		for (uint32_t i = 0; i < count; i++) {
			const double wanted = weighted ? expected[i].weighted : expected[i].plain;

			assert_string_equal(value[i].name, expected[i].name);
			if (!(fabs(value[i].value - wanted) <= 2e-6))
				fail_msg("%s is %.9g, not %.9g", value[i].name, value[i].value, wanted);
		}
		metrics_close(metrics);
	}
}

/* Makes predictions and labels of one output, which means yes or no. */
static void fill_binary(void)
{
	uint64_t seed = 5;

	for (uint32_t i = 0; i < ROWS; i++) {
		prediction[i] = (float)(0.5 + 0.5 * noise(&seed));
		class[i] = noise(&seed) * 0.5 + 0.5 < (double)prediction[i];
		weight[i] = (float)(0.5 + 0.5 * noise(&seed));
		real[i] = (float)class[i];
	}
	prediction[7] = 0;
	prediction[8] = 1;
	prediction[9] = 0.5f;
}

static void test_binary(void **state)
{
	static const struct expected keras[] = {
		{ "accuracy", 0.7720000147819519, 0.7634795308113098 },
		{ "precision", 0.8156862854957581, 0.8195642828941345 },
		{ "recall", 0.7563636302947998, 0.7575370669364929 },
		{ "f1_score", 0.7849056603773585, 0.7873309028373516 },
		{ "auc", 0.8483394384384155, 0.8419206738471985 },
		{ "auc_precision_recall", 0.852702260017395, 0.8565977811813354 },
	};
	struct metrics_shape shape = {
		.outputs = 1, .label_elements = 1, .label_dtype = CONFIG_INT64, .kind = METRICS_CLASSES
	};

	(void)state;
	fill_binary();
	compare(&shape, class, keras, 6);
	shape.label_dtype = CONFIG_FLOAT32;
	compare(&shape, real, keras, 6);
	/* The same rows as those of two classes: the metrics are those of the second class. */
	for (uint32_t i = ROWS; i-- > 0;) {
		prediction[2 * i + 1] = prediction[i];
		prediction[2 * i] = 1 - prediction[2 * i + 1];
	}
	shape.outputs = 2;
	shape.label_dtype = CONFIG_INT64;
	compare(&shape, class, keras, 6);
}

static void fill_classes(void)
{
	uint64_t seed = 5;

	memset(hot, 0, sizeof(hot));
	for (uint32_t i = 0; i < ROWS; i++) {
		double z[CLASSES], sum = 0, best = -INFINITY;

		for (uint32_t c = 0; c < CLASSES; c++)
			sum += exp(2 * (z[c] = noise(&seed)));
		for (uint32_t c = 0; c < CLASSES; c++) {
			const double y = z[c] + noise(&seed) * 0.8;

			prediction[i * CLASSES + c] = (float)(exp(2 * z[c]) / sum);
			class[i] = y > best ? c : class[i];
			best = fmax(y, best);
		}
		weight[i] = (float)(0.5 + 0.5 * noise(&seed));
		hot[i * CLASSES + (uint64_t) class[i]] = 1;
	}
	for (uint32_t i = 0; i < ROWS * CLASSES; i++)
		real[i] = (float)hot[i];
}

/* A one-hot label of int64, one of float32 and the class's number give the same metrics. */
static void test_classes(void **state)
{
	static const struct expected keras[] = {
		{ "accuracy", 0.6259999871253967, 0.6077646613121033 },
		{ "top_k_accuracy", 0.8960000276565552, 0.8925113677978516 },
		{ "precision", 0.7353951930999756, 0.7280598282814026 },
		{ "recall", 0.42800000309944153, 0.4227437973022461 },
		{ "f1_score", 0.6259425660332509, 0.6069590333304969 },
		{ "auc", 0.8728346824645996, 0.8718041181564331 },
		{ "auc_precision_recall", 0.6930941343307495, 0.6900305151939392 },
	};
	static const double matrix[CLASSES][CLASSES] = {
		{ 76, 15, 21, 15 }, { 14, 76, 16, 22 }, { 12, 10, 77, 19 }, { 13, 17, 13, 84 }
	};
	struct metrics_shape shape = { .outputs = CLASSES,
				       .label_elements = CLASSES,
				       .label_dtype = CONFIG_INT64,
				       .top_k = 2,
				       .kind = METRICS_CLASSES };
	struct metrics *metrics;
	uint64_t classes;

	(void)state;
	fill_classes();
	compare(&shape, hot, keras, 7);
	shape.label_dtype = CONFIG_FLOAT32;
	compare(&shape, real, keras, 7);
	shape.label_elements = 1;
	shape.label_dtype = CONFIG_INT64;
	compare(&shape, class, keras, 7);
	metrics = open_metrics(&shape);
	add(metrics, &shape, class, false);
	assert_memory_equal(metrics_confusion(metrics, &classes), matrix, sizeof(matrix));
	assert_int_equal(classes, CLASSES);
	metrics_close(metrics);
}

/* As scikit-learn's precision_recall_fscore_support(): by class and the macro average. A class that nobody
 * predicts, and one that no label names, have 0. */
static void test_each_class(void **state)
{
	static const float predicted[6][3] = { { 1 }, { 1 }, { 0, 1 }, { 1 }, { 0, 1 }, { 0, 1 } };
	static const int64_t label[6] = { 0, 0, 0, 1, 1, 1 };
	const struct metrics_shape shape = {
		.outputs = 3, .label_elements = 1, .label_dtype = CONFIG_INT64, .kind = METRICS_CLASSES
	};
	static const struct run_confusion_class expected[] = { { 3, 2.0 / 3, 2.0 / 3, 2.0 / 3 },
							       { 3, 2.0 / 3, 2.0 / 3, 2.0 / 3 },
							       { 0, 0, 0, 0 } };
	const struct metrics_batch batch = { .rows = 6, .prediction = predicted[0], .label = label };
	struct metrics *metrics = open_metrics(&shape);
	struct run_confusion_class mean;
	struct error err = { 0 };

	(void)state;
	harness_must(metrics_add(metrics, &batch, &err), &err);
	for (uint64_t i = 0; i < 3; i++) {
		const struct run_confusion_class found = metrics_class_of(metrics, i);

		assert_near(found.rows, expected[i].rows, 0);
		assert_near(found.precision, expected[i].precision, 1e-12);
		assert_near(found.recall, expected[i].recall, 1e-12);
		assert_near(found.f1, expected[i].f1, 1e-12);
	}
	mean = metrics_class_mean(metrics);
	assert_near(mean.rows, 6, 0);
	assert_near(mean.precision, 4.0 / 9, 1e-12);
	assert_near(mean.recall, 4.0 / 9, 1e-12);
	assert_near(mean.f1, 4.0 / 9, 1e-12);
	metrics_close(metrics);
}

/* Precision, recall and F1 differ where a class is predicted more often than it is there. */
static void test_uneven_class(void **state)
{
	const struct metrics_shape shape = {
		.outputs = CLASSES, .label_elements = 1, .label_dtype = CONFIG_INT64, .kind = METRICS_CLASSES
	};
	struct metrics *metrics = open_metrics(&shape);
	struct run_confusion_class first;

	(void)state;
	fill_classes();
	add(metrics, &shape, class, false);
	first = metrics_class_of(metrics, 0);
	assert_near(first.rows, 127, 0);
	assert_near(first.precision, 76.0 / 115, 1e-12);
	assert_near(first.recall, 76.0 / 127, 1e-12);
	assert_near(first.f1, 2 * 76.0 / (115 + 127), 1e-12);
	metrics_close(metrics);
}

/* The expected metrics are worked out by hand: yes or no for each of four outputs, and the numbers of a
 * regression. */
static void test_labels_and_numbers(void **state)
{
	static const float p[2 * CLASSES] = { 0.9f, 0.2f, 0.6f, 0.5f, 0.1f, 0.7f, 0.8f, 0.3f };
	static const int64_t y[2 * CLASSES] = { 1, 0, 0, 1, 0, 1, 1, 1 };
	static const float counts[2] = { 3, 1 };
	struct metrics_shape shape = { .outputs = CLASSES,
				       .label_elements = CLASSES,
				       .label_dtype = CONFIG_INT64,
				       .top_k = 2,
				       .kind = METRICS_LABELS };
	const struct metrics_batch batch = { .rows = 2, .prediction = p, .label = y, .weight = counts };
	struct metrics *metrics = open_metrics(&shape);
	struct metrics_value value[METRICS_VALUES_MAX];
	struct error err = { 0 };
	uint64_t classes;

	(void)state;
	harness_must(metrics_add(metrics, &batch, &err), &err);
	assert_int_equal(metrics_values(metrics, value), 6);
	assert_string_equal(value[0].name, "binary_accuracy");
	assert_near(value[0].value, (3 * 0.5 + 1 * 0.75) / 4, 1e-12);
	assert_near(value[1].value, (3.0 + 2) / (6 + 2), 1e-12);
	assert_near(value[2].value, (3.0 + 2) / (6 + 3), 1e-12);
	assert_string_equal(value[3].name, "f1_score");
	assert_near(value[3].value, 0.6, 1e-12);
	assert_null(metrics_confusion(metrics, &classes));
	metrics_close(metrics);
	shape.kind = METRICS_NUMBERS;
	metrics = open_metrics(&shape);
	harness_must(metrics_add(metrics, &batch, &err), &err);
	assert_int_equal(metrics_values(metrics, value), 4);
	assert_string_equal(value[0].name, "mean_squared_error");
	assert_near(value[0].value,
		    (3 * (0.01 + 0.04 + 0.36 + 0.25) / 4 + (0.01 + 0.09 + 0.04 + 0.49) / 4) / 4, 1e-7);
	assert_string_equal(value[1].name, "root_mean_squared_error");
	assert_near(value[1].value, sqrt(value[0].value), 1e-12);
	assert_string_equal(value[2].name, "mean_absolute_error");
	assert_near(value[2].value, (3 * (0.1 + 0.2 + 0.6 + 0.5) / 4 + (0.1 + 0.3 + 0.2 + 0.7) / 4) / 4,
		    1e-7);
	/* The last output's label never changes: 0. */
	assert_string_equal(value[3].name, "r2_score");
	assert_near(value[3].value, (1 - 0.04 / 0.75 + 1 - 0.21 / 0.75 + 1 - 1.12 / 0.75 + 0) / 4, 1e-6);
	metrics_close(metrics);
}

/* Returns r2_score of ten rows with one output. */
static double r2_of(const float *p, const float *y, const float *counts)
{
	const struct metrics_shape shape = {
		.outputs = 1, .label_elements = 1, .label_dtype = CONFIG_FLOAT32, .kind = METRICS_NUMBERS
	};
	const struct metrics_batch batch = { .rows = 10, .prediction = p, .label = y, .weight = counts };
	struct metrics *metrics = open_metrics(&shape);
	struct metrics_value value[METRICS_VALUES_MAX];
	struct error err = { 0 };

	harness_must(metrics_add(metrics, &batch, &err), &err);
	assert_int_equal(metrics_values(metrics, value), 4);
	assert_string_equal(value[3].name, "r2_score");
	metrics_close(metrics);
	return value[3].value;
}

/* The variance of a label is not lost in rounding: not of a label that never changes, nor of one that is far
 * from 0. */
static void test_r2_of_labels_with_little_variance(void **state)
{
	static const float counts[10] = { 0, 0.3f, 1, 0.7f, 0, 2, 0.1f, 1, 1, 0.9f };
	float p[10], y[10];

	(void)state;
	for (int i = 0; i < 10; i++) {
		p[i] = 0.5f;
		y[i] = 0.1f;
	}
	assert_true(r2_of(p, y, NULL) == 0);
	assert_true(r2_of(p, y, counts) == 0);
	/* Half of the labels are 1e7, half 1e7 + 1; each prediction is 1e7 + 1. */
	for (int i = 0; i < 10; i++) {
		p[i] = 10000001;
		y[i] = (float)(10000000 + i % 2);
	}
	assert_near(r2_of(p, y, NULL), 1 - 5 / 2.5, 1e-6);
	/* The labels 1e7 have the weight 2.1 in sum, the others 4.9. */
	assert_near(r2_of(p, y, counts), 1 - 2.1 / (2.1 * 4.9 / 7), 1e-6);
}

/* Empty rows do not count, whatever they hold. Without rows every metric is 0. A label that is not a class is
 * an error that names the row. */
static void test_rows(void **state)
{
	static const uint8_t empty[3] = { 0, 1, 0 };
	static const float p[6] = { 0.9f, 0.1f, 0, 0, 0.2f, 0.8f };
	static const int64_t right[3] = { 0, 77, 1 }, wrong[3] = { 0, 77, 2 };
	const struct metrics_shape shape = {
		.outputs = 2, .label_elements = 1, .label_dtype = CONFIG_INT64, .kind = METRICS_CLASSES
	};
	struct metrics_batch batch = { .rows = 3, .prediction = p, .label = right, .empty = empty };
	struct metrics *metrics = open_metrics(&shape);
	struct metrics_value value[METRICS_VALUES_MAX];
	struct error err = { 0 };

	(void)state;
	for (uint32_t i = 0, count = metrics_values(metrics, value); i < count; i++)
		assert_true(value[i].value == 0);
	harness_must(metrics_add(metrics, &batch, &err), &err);
	assert_int_equal(metrics_values(metrics, value), 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_true(value[i].value == 1);
	batch.label = wrong;
	assert_int_equal(metrics_add(metrics, &batch, &err), -EBADMSG);
	assert_string_equal(err.text, "row 5: label: found 2, allowed: classes 0 .. 1");
	metrics_close(metrics);
}

static void test_shapes_of_configs(void **state)
{
	static const struct {
		const char *loss;
		uint64_t outputs, labels;
		enum metrics_kind kind;
	} cases[] = {
		{ "categorical_crossentropy", 5, 5, METRICS_CLASSES },
		{ "sparse_categorical_crossentropy", 5, 1, METRICS_CLASSES },
		{ "binary_crossentropy", 1, 1, METRICS_CLASSES },
		{ "binary_crossentropy", 5, 5, METRICS_LABELS },
		{ "mean_squared_error", 5, 5, METRICS_NUMBERS },
	};
	static struct config_layer layer[] = { DENSE(5) };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct config config = model_config(layer, 1, 3, cases[i].labels, 4);

		config.model.loss = cases[i].loss;
		config.model.top_k = 3;
		const struct metrics_shape shape = metrics_shape_of(&config, cases[i].outputs);

		assert_int_equal(shape.kind, cases[i].kind);
		assert_int_equal(shape.label_elements, cases[i].labels);
		assert_int_equal(shape.label_dtype, CONFIG_INT64);
		assert_int_equal(shape.outputs, cases[i].outputs);
		assert_int_equal(shape.top_k, 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_each_class),
		cmocka_unit_test(test_uneven_class),
		cmocka_unit_test(test_labels_and_numbers),
		cmocka_unit_test(test_r2_of_labels_with_little_variance),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_shapes_of_configs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
