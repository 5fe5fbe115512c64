/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every loss: its float64 reference against finite differences and values of Keras; its kernel against the
 * reference, with every kind of label and weight; labels that are not valid; and configurations that are
 * refused.
 */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"
#include "tests/unit/loss_keys.h"
#include "tests/unit/mistakes.h"

#define ROWS    19u
#define INPUTS  3u
#define OUTPUTS 6u

static uint8_t empty[ROWS];
static float weight[ROWS];
static const double class_weights[OUTPUTS] = { 0.5, 2, 1, 0, 3, 0.25 };

enum options { WHOLE = 1, SAMPLES = 2, CLASSES = 4, SMOOTH = 8, ONE = 16 };

static const struct {
	const char *loss;
	unsigned options;
	uint64_t top_k;
} cases[] = {
	{ "categorical_crossentropy", WHOLE, 0 },
	{ "categorical_crossentropy", WHOLE | SMOOTH | SAMPLES, 2 },
	{ "categorical_crossentropy", SMOOTH | CLASSES, 3 },
	{ "sparse_categorical_crossentropy", WHOLE, 2 },
	{ "sparse_categorical_crossentropy", WHOLE | CLASSES, 0 },
	{ "sparse_categorical_crossentropy", WHOLE | SAMPLES, 5 },
	{ "binary_crossentropy", WHOLE | ONE, 0 },
	{ "binary_crossentropy", ONE | SMOOTH | SAMPLES, 0 },
	{ "binary_crossentropy", WHOLE | ONE | CLASSES, 0 },
	{ "binary_crossentropy", WHOLE | SMOOTH, 3 },
	{ "binary_crossentropy", CLASSES, 0 },
	{ "mean_squared_error", 0, 2 },
	{ "mean_squared_error", ONE | SAMPLES, 0 },
	{ "mean_squared_error", WHOLE | CLASSES, 0 },
	{ "categorical_focal_crossentropy", WHOLE, 0 },
	{ "categorical_focal_crossentropy", WHOLE | SMOOTH | SAMPLES, 2 },
	{ "categorical_focal_crossentropy", CLASSES, 3 },
	{ "binary_focal_crossentropy", WHOLE | ONE, 0 },
	{ "binary_focal_crossentropy", ONE | SMOOTH | SAMPLES, 0 },
	{ "binary_focal_crossentropy", WHOLE, 3 },
	{ "binary_focal_crossentropy", CLASSES, 0 },
	{ "mean_absolute_error", 0, 0 },
	{ "mean_absolute_error", ONE | SAMPLES, 0 },
	{ "huber", 0, 0 },
	{ "huber", WHOLE | CLASSES, 0 },
	{ "log_cosh", 0, 0 },
	{ "log_cosh", ONE | SAMPLES, 0 },
	{ "poisson", WHOLE, 0 },
	{ "poisson", SAMPLES, 0 },
	{ "hinge", WHOLE, 0 },
	{ "hinge", ONE | SAMPLES, 0 },
	{ "squared_hinge", WHOLE, 0 },
	{ "squared_hinge", CLASSES, 0 },
	{ "kl_divergence", 0, 0 },
	{ "kl_divergence", WHOLE | SAMPLES, 0 },
	{ "cosine_similarity", 0, 0 },
	{ "cosine_similarity", WHOLE | SAMPLES, 0 },
};
#define CASES (sizeof(cases) / sizeof(*cases))

static struct config_layer layers[] = { DENSE(OUTPUTS), RELU };
static struct config_layer one_layer[] = { DENSE(1), RELU };
static struct config_layer classes[] = { DENSE(OUTPUTS), SOFTMAX };

/* Only the loss is launched, so any last layer is allowed. */
static struct config case_config(size_t c)
{
	const bool one = cases[c].options & ONE, whole = cases[c].options & WHOLE;
	const bool class_label = loss_find(cases[c].loss)->class_label;
	const uint64_t outputs = one ? 1 : OUTPUTS;
	struct config config = model_config(one           ? one_layer
					    : class_label ? classes
							  : layers,
					    2, INPUTS, class_label ? 1 : outputs, ROWS);

	config.feature[1].dtype = whole ? CONFIG_INT64 : CONFIG_FLOAT32;
	config.model.loss = class_label ? cases[c].loss : "mean_squared_error";
	if (cases[c].options & SAMPLES) {
		config.features = 3;
		config.feature[2] = (struct config_feature){ .name = "weight", .dtype = CONFIG_FLOAT32 };
		config.model.sample_weight = "weight";
	}
	if (cases[c].options & CLASSES)
		config.model.class_weights = (struct config_numbers){ one ? 2 : OUTPUTS, class_weights };
	return config;
}

/* Sets keys that the tested loss reads. The graph was built with another loss, which may not allow them. */
static void smooth(size_t c, struct config *config)
{
	config->model.top_k = cases[c].top_k;
	config->model.label_smoothing = cases[c].options & SMOOTH ? 0.2 : 0;
	set_loss_keys(config);
}

struct batch {
	int64_t whole[ROWS * OUTPUTS];
	float real[ROWS * OUTPUTS], z[ROWS * OUTPUTS];
	double label[ROWS * OUTPUTS], logits[ROWS * OUTPUTS];
};

/* Some rows have several equal outputs. */
static void fill(size_t c, struct batch *batch)
{
	const bool one = cases[c].options & ONE, class_label = loss_find(cases[c].loss)->class_label;
	const uint64_t outputs = one ? 1 : OUTPUTS, labels = class_label || one ? 1 : OUTPUTS;
	uint64_t seed = c + 1;

	memset(batch, 0, sizeof(*batch));
	for (uint64_t i = 0; i < ROWS * outputs; i++)
		batch->logits[i] = (double)(batch->z[i] = some_output(cases[c].loss, &seed));
	for (uint64_t r = 0; r < ROWS && !one; r += 4)
		batch->logits[r * outputs + 1] = batch->z[r * outputs + 1] = batch->z[r * outputs + 4];
	for (uint64_t r = 0; r < ROWS; r++) {
		const uint64_t class = (r * 5 + c) % (one ? 2 : OUTPUTS);

		if (class_label || one)
			batch->whole[r] = (int64_t) class;
		else
			batch->whole[r * labels + class] = 1;
		for (uint64_t l = 0; l < labels; l++)
			batch->real[r * labels + l] = (float)batch->whole[r * labels + l];
	}
	if (!(cases[c].options & WHOLE) && !one)
		for (uint64_t i = 0; i < ROWS * labels; i++)
			batch->real[i] = (float)(0.5 + 0.5 * noise(&seed));
	for (uint64_t i = 0; i < ROWS * labels; i++)
		batch->label[i] = cases[c].options & WHOLE ? (double)batch->whole[i] : (double)batch->real[i];
}

static double row_loss[ROWS], row_correct[ROWS], row_top[ROWS], dz[ROWS * OUTPUTS], sample[ROWS];

static double refer(size_t c, const struct config *config, const struct batch *batch)
{
	const struct loss *loss = loss_find(cases[c].loss);
	const bool one = cases[c].options & ONE;
	const struct loss_reference call = {
		.rows = ROWS,
		.outputs = one ? 1 : OUTPUTS,
		.label_elements = one || loss->class_label ? 1 : OUTPUTS,
		.z = batch->logits,
		.label = batch->label,
		.empty = empty,
		.sample = cases[c].options & SAMPLES ? sample : NULL,
		.config = config,
		.training = true,
		.row_loss = row_loss,
		.row_correct = row_correct,
		.row_top = row_top,
		.dz = dz,
	};
	double sum = 0;

	loss_reference(loss, &call);
	for (uint32_t r = 0; r < ROWS; r++)
		sum += row_loss[r] / (ROWS - 2);
	return sum;
}

static void test_references_match_differences(void **state)
{
	static struct batch batch;

	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		struct config config = case_config(c);
		const uint64_t count = ROWS * (cases[c].options & ONE ? 1 : OUTPUTS);

		smooth(c, &config);
		fill(c, &batch);
		for (uint64_t i = 0; i < count; i++) {
			const double kept = batch.logits[i], step = 1e-6;
			double up, down, gradient;

			batch.logits[i] = kept + step;
			up = refer(c, &config, &batch);
			batch.logits[i] = kept - step;
			down = refer(c, &config, &batch);
			batch.logits[i] = kept;
			(void)refer(c, &config, &batch);
			gradient = dz[i];
			if (fabs((up - down) / (2 * step) - gradient) > 1e-8)
				fail_msg("case %zu: dz[%lu]: gradient %g, difference %g", c, i, gradient,
					 (up - down) / (2 * step));
		}
	}
}

static void must_be_near(size_t c, const char *what, uint64_t i, double found, double wanted)
{
	if (!(fabs(found - wanted) <= 2e-6 + 4e-6 * fabs(wanted)))
		fail_msg("case %zu, %s: %s[%lu] is %.9g, not %.9g", c, cases[c].loss, what, i, found, wanted);
}

static void run_case(size_t c, const struct batch *batch)
{
	struct config config = case_config(c);
	const struct loss *loss = loss_find(cases[c].loss);
	struct harness h;
	float found_loss[ROWS], found_dz[ROWS * OUTPUTS];
	uint32_t hit[ROWS];
	struct plan_values values = { .rows = ROWS,
				      .valid_rows = ROWS - 2,
				      .row_weight = 1.0f / (ROWS - 2),
				      .label = to_device(cases[c].options & WHOLE ? (const void *)batch->whole
										  : batch->real,
							 sizeof(batch->whole)),
				      .weight = to_device(weight, sizeof(weight)),
				      .empty = to_device(empty, sizeof(empty)) };
	const uint64_t outputs = cases[c].options & ONE ? 1 : OUTPUTS;

	harness_open(&h, gpu, &config, true);
	h.graph.loss = loss; /* the graph was built with another loss */
	smooth(c, &config);
	loss_emit(&h.plan, true);
	harness_bind(&h, program);
	const struct node *last = &h.graph.node[1];
	const uint32_t z = loss->output_op ? last->input[0] : last->output;

	harness_put(&h, z, batch->z);
	harness_run(&h, &values);
	harness_get(&h, h.graph.row_loss, found_loss);
	harness_get(&h, h.graph.row_correct, hit);
	harness_get(&h, graph_at(&h.graph, z)->gradient, found_dz);
	(void)refer(c, &config, batch);
	for (uint32_t r = 0; r < ROWS; r++) {
		must_be_near(c, "loss", r, (double)found_loss[r], row_loss[r]);
		must_be_near(c, "hit", r, hit[r] & ROW_HIT, row_correct[r]);
		if (cases[c].top_k)
			must_be_near(c, "top", r, hit[r] & ROW_TOP ? 1 : 0, row_top[r]);
	}
	for (uint64_t i = 0; i < ROWS * outputs; i++)
		must_be_near(c, "dz", i, (double)found_dz[i], dz[i]);
	gpu_buffer_free(values.label);
	gpu_buffer_free(values.weight);
	gpu_buffer_free(values.empty);
	harness_close(&h);
}

static void test_kernels_match_references(void **state)
{
	static struct batch batch;

	(void)state;
	for (size_t c = 0; c < CASES; c++) {
		fill(c, &batch);
		run_case(c, &batch);
	}
}

/* Keras 3: CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)([0, 1, 0], [1, 2, 0.5]), and
 * the other losses on such values. */
static void test_known_values(void **state)
{
	static const double z[] = { 1, 2, 0.5 }, hot[] = { 0, 1, 0 }, class[] = { 1 }, many[] = { 0, 1, 1 };
	static const struct loss_settings plain, smooth_labels = { .smoothing = 0.1 };
	double gradient[3];

	(void)state;
	assert_near(loss_find("categorical_crossentropy")->row(3, z, hot, &plain, gradient), 0.4643687904,
		    1e-7);
	assert_near(gradient[1], -0.3714683, 1e-7);
	assert_near(loss_find("categorical_crossentropy")->row(3, z, hot, &smooth_labels, NULL), 0.5477021336,
		    1e-7);
	assert_near(loss_find("sparse_categorical_crossentropy")->row(3, z, class, &plain, NULL),
		    0.4643687904, 1e-7);
	assert_near(loss_find("binary_crossentropy")->row(3, z, many, &plain, NULL), 0.6380888820, 1e-7);
	assert_near(loss_find("mean_squared_error")->row(3, z, hot, &plain, NULL), 0.75, 1e-12);
}

/* ---- In a model ---- */

#define BATCH 8u
static float input[BATCH * INPUTS] __attribute__((aligned(4096)));
static int64_t label[BATCH] __attribute__((aligned(4096)));
static struct config_layer classifier[] = { DENSE(4), SOFTMAX };

static struct config sparse_config(void)
{
	struct config config = model_config(classifier, 2, INPUTS, 1, BATCH);

	config.model.loss = "sparse_categorical_crossentropy";
	config.model.top_k = 2;
	return config;
}

static const struct model_batch sparse_batch = {
	.input = { input }, .label = label, .rows = BATCH, .valid_rows = BATCH, .first_row = 1000
};

/* A wrong label is reported by the next step at the latest, in training and in evaluation, and never reaches
 * a checkpoint. */
static void test_wrong_label(void **state)
{
	static const struct {
		uint32_t row;
		int64_t found;
		const char *text;
	} wrong[] = {
		{ 0, 4,
		  "row 1000 of the pass, 0 of its batch: label 'label': found 4, allowed: classes 0 .. 3" },
		{ 7, -1,
		  "row 1007 of the pass, 7 of its batch: label 'label': found -1, allowed: classes 0 .. 3" },
		{ 3, INT64_MAX,
		  "row 1003 of the pass, 3 of its batch: label 'label': found 9223372036854775807, "
		  "allowed: " },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(wrong) / sizeof(*wrong); i++) {
		const struct config config = sparse_config();
		struct model_metrics metrics;
		struct model *model = NULL;
		struct error err = { 0 };
		char text[160];

		memset(label, 0, sizeof(label));
		label[wrong[i / 2].row] = wrong[i / 2].found;
		harness_must(model_open(gpu, &config, true, &model, &err), &err);
		harness_must(model_init(model, &err), &err);
		harness_must(i % 2 ? model_evaluate(model, &sparse_batch, &err)
				   : model_train(model, &sparse_batch, &err),
			     &err);
		assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
		(void)snprintf(text, sizeof(text), "step %d: %s", i % 2 ? 0 : 1, wrong[i / 2].text);
		if (strncmp(err.text, text, strlen(text)) != 0)
			fail_msg("found \"%s\"\nwanted \"%s\"", err.text, text);
		if (i % 2 == 0) {
			const struct model_tensor *tensors;
			uint32_t count;

			harness_must(model_snapshot(model, &err), &err);
			assert_int_equal(model_snapshot_tensors(model, &tensors, &count, &err), -EDOM);
			model_snapshot_release(model);
		}
		model_close(model);
	}
}

/* Rows that lie lane after lane are named by their row of the pass. */
static void test_wrong_label_in_a_lane(void **state)
{
	static const struct {
		struct order_part part;
		uint32_t row;
		const char *text;
	} wrong[] = {
		{ { .lanes = 2, .own = 2, .lane_rows = BATCH / 2 },
		  3,
		  "step 1: row 1006 of the pass, 3 of its batch: " },
		{ { .lanes = 4, .first = 2, .own = 2, .lane_rows = BATCH / 2 },
		  5,
		  "step 1: row 1007 of the pass, 5 of its batch: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		const struct config config = sparse_config();
		struct model_batch batch = sparse_batch;
		struct model_metrics metrics;
		struct model *model = NULL;
		struct error err = { 0 };

		batch.part = wrong[i].part;
		memset(label, 0, sizeof(label));
		label[wrong[i].row] = 4;
		harness_must(model_open(gpu, &config, true, &model, &err), &err);
		harness_must(model_init(model, &err), &err);
		harness_must(model_train(model, &batch, &err), &err);
		assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
		assert_int_equal(strncmp(err.text, wrong[i].text, strlen(wrong[i].text)), 0);
		model_close(model);
	}
}

/* ---- Labels with a number for each output ---- */

static struct config_layer binary[] = { DENSE(4), { .op = "sigmoid", .name = "", .line = 6 } };
static int64_t whole_label[BATCH * 4] __attribute__((aligned(4096)));
static float real_label[BATCH * 4] __attribute__((aligned(4096)));

static struct config each_config(const char *loss, bool real)
{
	const bool softmax = strcmp(loss, "categorical_crossentropy") == 0;
	struct config config = model_config(softmax ? classifier : binary, 2, INPUTS, 4, BATCH);

	config.feature[1].dtype = real ? CONFIG_FLOAT32 : CONFIG_INT64;
	config.model.loss = loss;
	return config;
}

/* Trains or evaluates a batch in which one element of row 3 and one of row 5 is `found`; returns the result.
 */
static int run_with_label(const struct config *config, double found, bool train, struct error *err)
{
	const bool real = config->feature[1].dtype == CONFIG_FLOAT32;
	struct model_batch batch = sparse_batch;
	struct model_metrics metrics;
	struct model *model = NULL;
	int r;

	for (uint32_t i = 0; i < BATCH * 4; i++)
		real_label[i] = (float)(whole_label[i] = i % 4 == 1);
	for (uint32_t i = 3 * 4 + 2; i < BATCH * 4; i += 2 * 4) {
		real_label[i] = (float)found;
		whole_label[i] = isfinite(found) ? (int64_t)found : 0;
	}
	batch.label = real ? (const void *)real_label : whole_label;
	harness_must(model_open(gpu, config, true, &model, err), err);
	harness_must(model_init(model, err), err);
	harness_must(train ? model_train(model, &batch, err) : model_evaluate(model, &batch, err), err);
	r = model_metrics(model, &metrics, err);
	if (r == 0 && !isfinite(metrics.loss))
		fail_msg("%s: a loss of %g", config->model.loss, metrics.loss);
	model_close(model);
	return r;
}

static void test_label_out_of_range(void **state)
{
	static const char *const both[] = { "categorical_crossentropy", "binary_crossentropy" };
	static const struct {
		double found;
		bool real;
		const char *text; /* NULL: allowed */
	} labels[] = {
		{ 7, false, "7" },
		{ -3, false, "-3" },
		{ 1, false, NULL },
		{ 5, true, "5" },
		{ -0.25, true, "-0.25" },
		{ 0x1.000002p0, true, "1.00000012" },
		{ (double)NAN, true, "nan" },
		{ (double)INFINITY, true, "inf" },
		{ -(double)INFINITY, true, "-inf" },
		{ 0.3, true, NULL }, /* a soft label */
		{ 1, true, NULL },
		{ -0.0, true, NULL },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(labels) / sizeof(*labels); i++) {
		const struct config config = each_config(both[i % 2], labels[i / 2].real);
		const char *found = labels[i / 2].text ? labels[i / 2].text : "";
		const bool train = i % 4 < 2;
		struct error err = { 0 };
		char text[160];

		if (run_with_label(&config, labels[i / 2].found, train, &err) != (*found ? -EDOM : 0))
			fail_msg("%s: a label of %g: found \"%s\"", both[i % 2], labels[i / 2].found,
				 err.text);
		(void)snprintf(text, sizeof(text),
			       "step %d: row 1003 of the pass, 3 of its batch: label 'label': found "
			       "%s in element 2, allowed: 0 .. 1",
			       train, found);
		if (*found)
			assert_string_equal(err.text, text);
	}
}

/* Labels of a regression have no bounds. */
static void test_squared_error_takes_any_label(void **state)
{
	struct error err = { 0 };

	(void)state;
	for (int real = 0; real < 2; real++) {
		const struct config config = each_config("mean_squared_error", real);

		harness_must(run_with_label(&config, -7, true, &err), &err);
	}
}

/* A regression has no accuracy, not even with one output. */
static void test_squared_error_has_no_accuracy(void **state)
{
	struct config config = each_config("mean_squared_error", true);
	struct model_batch batch = sparse_batch;
	struct model_metrics metrics;
	struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	config.feature[1].shape[0] = 1;
	config.model.layer = one_layer;
	batch.label = real_label;
	memset(real_label, 0, sizeof(real_label));
	harness_must(model_open(gpu, &config, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	harness_must(model_train(model, &batch, &err), &err);
	harness_must(model_metrics(model, &metrics, &err), &err);
	assert_true(isfinite(metrics.loss));
	assert_true(isnan(metrics.accuracy));
	model_close(model);
}

/* A row that does not count may hold any label. */
static void test_wrong_label_of_an_empty_row(void **state)
{
	static const uint8_t second[BATCH] = { 0, 1 };
	const struct config config = sparse_config();
	struct model_batch batch = sparse_batch;
	struct model_metrics metrics;
	struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	memset(label, 0, sizeof(label));
	label[1] = 99;
	batch.empty = second;
	batch.valid_rows = BATCH - 1;
	harness_must(model_open(gpu, &config, true, &model, &err), &err);
	harness_must(model_init(model, &err), &err);
	harness_must(model_train(model, &batch, &err), &err);
	harness_must(model_metrics(model, &metrics, &err), &err);
	assert_int_equal(metrics.rows, BATCH - 1);
	assert_true(isfinite(metrics.loss));
	model_close(model);
}

/* Every class has equally many rows. Top 2 of 4, loss and weights follow the reference. */
static void test_model_follows_reference(void **state)
{
	static float samples[BATCH] __attribute__((aligned(4096)));
	struct config config = sparse_config();
	struct model_batch batch = sparse_batch;
	struct model_metrics metrics;
	struct model *model = NULL;
	struct reference reference;
	struct error err = { 0 };
	const struct model_tensor *tensors;
	uint32_t count;

	(void)state;
	for (uint32_t i = 0; i < BATCH; i++) {
		label[i] = i % 4;
		samples[i] = 0.25f * (float)i;
	}
	config.features = 3;
	config.feature[2] = (struct config_feature){ .name = "weight", .dtype = CONFIG_FLOAT32 };
	config.model.sample_weight = "weight";
	batch.weight = samples;
	harness_must(model_open(gpu, &config, true, &model, &err), &err);
	assert_string_equal(model_label(model).name, "label");
	assert_int_equal(model_label(model).row_bytes, 8);
	assert_string_equal(model_sample_weight(model).name, "weight");
	assert_int_equal(model_classes(model), 4);
	harness_must(model_init(model, &err), &err);
	harness_must(model_snapshot(model, &err), &err);
	harness_must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	reference_open(&reference, &model->graph);
	reference_load(&reference, tensors, count);
	model_snapshot_release(model);
	reference_pass(&reference, &batch, false, 0);
	harness_must(model_evaluate(model, &batch, &err), &err);
	harness_must(model_metrics(model, &metrics, &err), &err);
	assert_near(metrics.loss, reference.loss_sum / BATCH, 1e-6);
	assert_near(metrics.accuracy, reference.correct_sum / BATCH, 1e-9);
	assert_near(metrics.top_k, reference.top_sum / BATCH, 1e-9);
	assert_true(metrics.top_k >= metrics.accuracy);
	reference_close(&reference);
	model_close(model);
}

/* ---- Refused configurations ---- */

static void test_mistakes(void **state)
{
	struct config config = sparse_config();

	(void)state;
	config.feature[1].dtype = CONFIG_FLOAT32;
	expect(&config, "k.conf:1: model.label: found 'label', float32, allowed with loss "
			"sparse_categorical_crossentropy: int64");
	config = sparse_config();
	config.feature[1].shape[0] = 4;
	expect(&config, "model.label: found 'label', int64 of 4 numbers a row, allowed with loss "
			"sparse_categorical_crossentropy: 1, the number of a class");
	config = sparse_config();
	config.model.label_smoothing = 0.1;
	expect(&config,
	       "model.label_smoothing: found 0.1, allowed with loss sparse_categorical_crossentropy: 0");
	config = sparse_config();
	config.model.class_weights = (struct config_numbers){ 3, class_weights };
	expect(&config, "model.class_weights: found 3, allowed: 4, one a class");
	config.model.class_weights.count = 4;
	config.features = 3;
	config.feature[2] = (struct config_feature){ .name = "weight", .dtype = CONFIG_FLOAT32 };
	config.model.sample_weight = "weight";
	expect(&config, "model.class_weights: found beside model.sample_weight, allowed: one of them");
	config.model.class_weights.count = 0;
	config.model.sample_weight = "nothing";
	expect(&config,
	       "model.sample_weight: found \"nothing\", allowed: a float32 feature of `schema` with one");
	config.model.sample_weight = "weight";
	config.feature[2].dtype = CONFIG_INT64;
	expect(&config,
	       "model.sample_weight: found \"weight\", allowed: a float32 feature of `schema` with one");
	config = sparse_config();
	config.model.top_k = 5;
	expect(&config, "model.top_k: found 5, allowed: at most 4, the classes");
	config = each_config("mean_squared_error", true);
	config.model.top_k = 2;
	expect(&config, "model.top_k: found 2, allowed with loss mean_squared_error: 0");
	config.model.top_k = 0;
	config.keep_best.monitor = MONITOR_ACCURACY;
	expect(&config, "k.conf:1: keep_best.monitor: found \"accuracy\", allowed with loss "
			"mean_squared_error: \"none\", \"loss\", \"val_loss\"");
	config.keep_best.monitor = MONITOR_VAL_LOSS;
	config.early_stopping.monitor = MONITOR_VAL_ACCURACY;
	expect(&config, "early_stopping.monitor: found \"val_accuracy\", allowed with loss "
			"mean_squared_error: \"none\", \"loss\", \"val_loss\"");
	config.early_stopping.monitor = MONITOR_LOSS;
	config.reduce_on_plateau.monitor = MONITOR_ACCURACY;
	expect(&config, "reduce_on_plateau.monitor: found \"accuracy\", allowed with loss "
			"mean_squared_error: ");
	config = sparse_config();
	config.model.loss = "binary_crossentropy";
	expect(&config, "k.conf:6: model.layers.op: found \"softmax\" as the last, allowed with loss "
			"binary_crossentropy: \"sigmoid\"");
}

static int open_all(void **state)
{
	uint64_t seed = 9;

	(void)state;
	open_kernels();
	empty[2] = empty[9] = 1;
	for (uint32_t r = 0; r < ROWS; r++)
		sample[r] = (double)(weight[r] = (float)(r % 5) * 0.5f);
	for (uint32_t i = 0; i < BATCH * INPUTS; i++)
		input[i] = (float)noise(&seed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_references_match_differences),
		cmocka_unit_test(test_kernels_match_references),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_wrong_label),
		cmocka_unit_test(test_wrong_label_in_a_lane),
		cmocka_unit_test(test_label_out_of_range),
		cmocka_unit_test(test_squared_error_takes_any_label),
		cmocka_unit_test(test_squared_error_has_no_accuracy),
		cmocka_unit_test(test_wrong_label_of_an_empty_row),
		cmocka_unit_test(test_model_follows_reference),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
