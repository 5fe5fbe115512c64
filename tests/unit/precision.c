/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.precision: the loss of 16 bits, and the loss scale: it adapts, a skipped step has no effect, and
 * all of its state is in a checkpoint, which can be loaded with another precision.
 */
#include "model/checkpoint.h"
#include "tests/reference.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    16u
#define INPUTS  24u
#define CLASSES 3u
#define BATCHES 4u

static struct gpu *gpu;
static float input[BATCHES][ROWS * INPUTS] __attribute__((aligned(4096)));
static int64_t label[BATCHES][ROWS * CLASSES] __attribute__((aligned(4096)));
static struct config_layer layers[] = { DENSE(33), RELU, DENSE(CLASSES), SOFTMAX };
static char path[] = "/tmp/kiln-precision-XXXXXX";

static struct config config_of(int precision)
{
	struct config config = model_config(layers, sizeof(layers) / sizeof(*layers), INPUTS, CLASSES, ROWS);

	config.model.precision = precision;
	return config;
}

static void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

static struct model *open_model(const struct config *config)
{
	struct model *model = NULL;
	struct error err = { 0 };

	must(model_open(gpu, config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	return model;
}

static struct model_batch batch_of(uint64_t b)
{
	return (struct model_batch){
		.input = { input[b % BATCHES] }, .label = label[b % BATCHES], .rows = ROWS, .valid_rows = ROWS
	};
}

static void train(struct model *model, uint64_t from, uint64_t to)
{
	struct error err = { 0 };

	for (uint64_t b = from; b < to; b++) {
		const struct model_batch batch = batch_of(b);

		must(model_train(model, &batch, &err), &err);
	}
}

static void read_tensor(struct model *model, const char *name, void *out)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	bool found = false;
	uint32_t count = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0) {
			memcpy(out, tensors[i].data, tensors[i].bytes);
			found = true;
		}
	model_snapshot_release(model);
	if (!found)
		fail_msg("%s: not in the state", name);
}

static void write_tensor(struct model *model, const char *name, const void *data, uint64_t bytes)
{
	struct error err = { 0 };

	must(model_tensor_load(model, name, data, bytes, &err), &err);
}

struct scale {
	float scale;
	int64_t finite, skipped;
};

static struct scale scale_of(struct model *model)
{
	struct scale scale;
	int64_t steps[2];

	read_tensor(model, "state/loss_scale", &scale.scale);
	read_tensor(model, "state/loss_scale_steps", steps);
	scale.finite = steps[0];
	scale.skipped = steps[1];
	return scale;
}

static void set_scale(struct model *model, float scale, int64_t finite, int64_t skipped)
{
	const int64_t steps[] = { finite, skipped };

	write_tensor(model, "state/loss_scale", &scale, sizeof(scale));
	write_tensor(model, "state/loss_scale_steps", steps, sizeof(steps));
}

static void assert_scale(struct model *model, float scale, int64_t finite, int64_t skipped)
{
	const struct scale found = scale_of(model);

	assert_true(found.scale == scale);
	assert_int_equal(found.finite, finite);
	assert_int_equal(found.skipped, skipped);
}

#define KERNEL (INPUTS * 33u)

/* The largest difference of a tensor in two models, relative to the tensor's largest number. */
static double differ(struct model *a, struct model *b, const char *name)
{
	static float left[KERNEL], right[KERNEL];
	double most = 0, largest = 0;

	memset(left, 0, sizeof(left));
	memset(right, 0, sizeof(right));
	read_tensor(a, name, left);
	read_tensor(b, name, right);
	for (uint32_t i = 0; i < KERNEL; i++) {
		most = fmax(most, fabs((double)left[i] - (double)right[i]));
		largest = fmax(largest, fabs((double)left[i]));
	}
	return most / largest;
}

/* ---- The loss of precision with 16 bits ---- */

/* Compares the gradients of one step with those of float32: norm of the difference divided by the norm. */
static double gradient_error(struct config config, int precision, const struct model_batch *batch)
{
	struct config stored = config;
	struct model *model[2];
	const struct model_tensor *gradient[2] = { NULL, NULL };
	struct error err = { 0 };
	double worst = 0;
	uint32_t count = 0;

	stored.model.precision = precision;
	model[0] = open_model(&config);
	model[1] = open_model(&stored);
	for (uint32_t m = 0; m < 2; m++) {
		must(model_train(model[m], batch, &err), &err);
		must(model_gradients(model[m], &gradient[m], &count, &err), &err);
	}
	for (uint32_t t = 0; t < count; t++) {
		const float *a = gradient[0][t].data, *b = gradient[1][t].data;
		double square = 0, difference = 0;

		for (uint64_t e = 0; e < gradient[0][t].bytes / sizeof(float); e++) {
			square += (double)a[e] * (double)a[e];
			difference += pow((double)a[e] - (double)b[e], 2);
		}
		worst = fmax(worst, sqrt(difference / square));
	}
	model_close(model[0]);
	model_close(model[1]);
	return worst;
}

static void test_gradients(void **state)
{
	const struct config config = config_of(PRECISION_FLOAT32);
	const struct model_batch batch = batch_of(0);
	const double bfloat16 = gradient_error(config, PRECISION_MIXED_BFLOAT16, &batch),
		     float16 = gradient_error(config, PRECISION_MIXED_FLOAT16, &batch);

	(void)state;
	(void)printf("gradients of a step: bfloat16 %.2g, float16 %.2g of the norm\n", bfloat16, float16);
	assert_true(bfloat16 > 1e-5 && bfloat16 < 8e-3);
	assert_true(float16 > 1e-6 && float16 < 1e-3);
}

/* All three products are large enough for the packed family. */
static void test_large_products(void **state)
{
	enum { MANY = 64, WIDE = 4100 };
	static struct config_layer wide[] = { DENSE(70), OP("tanh"), DENSE(CLASSES), SOFTMAX };
	static float numbers[MANY * WIDE] __attribute__((aligned(4096)));
	static int64_t classes[MANY * CLASSES] __attribute__((aligned(4096)));
	const struct config config = model_config(wide, 4, WIDE, CLASSES, MANY);
	const struct model_batch batch = {
		.input = { numbers }, .label = classes, .rows = MANY, .valid_rows = MANY
	};

	(void)state;
	fill_batch(9, MANY, WIDE, CLASSES, numbers, classes);
	assert_true(gradient_error(config, PRECISION_MIXED_BFLOAT16, &batch) < 0.01);
	assert_true(gradient_error(config, PRECISION_MIXED_FLOAT16, &batch) < 1.5e-3);
}

/* Predictions during training are stored in 16 bits, afterwards in float32. */
static void test_predictions(void **state)
{
	(void)state;
	for (int precision = PRECISION_MIXED_BFLOAT16; precision <= PRECISION_MIXED_FLOAT16; precision++) {
		const struct config config = config_of(precision), plain = config_of(PRECISION_FLOAT32);
		const void *const batch[] = { input[1] };
		static float found[ROWS * CLASSES], wanted[ROWS * CLASSES], later[ROWS * CLASSES];
		struct model *model = open_model(&config), *reference = open_model(&plain), *predictor = NULL;
		struct error err = { 0 };
		double most = 0;

		must(model_open(gpu, &config, false, &predictor, &err), &err);
		must(model_init(predictor, &err), &err);
		must(model_predict(model, batch, ROWS, found, &err), &err);
		must(model_predict(reference, batch, ROWS, wanted, &err), &err);
		must(model_predict(predictor, batch, ROWS, later, &err), &err);
		for (uint32_t i = 0; i < ROWS * CLASSES; i++)
			most = fmax(most, fabs((double)found[i] - (double)wanted[i]));
		assert_true(most > 0 && most < (precision == PRECISION_MIXED_FLOAT16 ? 1e-3 : 8e-3));
		assert_memory_equal(later, wanted, sizeof(wanted));
		model_close(model);
		model_close(reference);
		model_close(predictor);
	}
}

/* ---- The loss scale ---- */

/* Gradients beyond 65504 that only the scale causes: the scale is halved, and nothing else changes. */
static void test_overflow_skips(void **state)
{
	const struct config config = config_of(PRECISION_MIXED_FLOAT16);
	struct model *model = open_model(&config), *fresh = open_model(&config);
	const struct model_tensor *gradient = NULL;
	struct error err = { 0 };
	uint64_t skipped = 0;
	uint32_t count = 0;
	double scale = 0;

	(void)state;
	assert_scale(model, 32768, 0, 0);
	set_scale(model, 0x1p40f, 7, 0);
	train(model, 0, 1);
	assert_scale(model, 0x1p39f, 0, 1);
	must(model_loss_scale(model, &scale, &skipped, &err), &err);
	assert_true(scale == 0x1p39 && skipped == 1);
	assert_int_equal(model_step(model), 1);
	assert_true(differ(fresh, model, "dense/kernel") == 0);
	/* Histograms show such gradients as 0, not as NaN. */
	must(model_gradients(model, &gradient, &count, &err), &err);
	for (uint32_t t = 0; t < count; t++)
		for (uint64_t e = 0; e < gradient[t].bytes / sizeof(float); e++)
			assert_true(((const float *)gradient[t].data)[e] == 0);
	model_close(model);
	model_close(fresh);
}

/* At this scale the gradient of the loss overflows; at half of it the gradient does not. */
#define TOO_LARGE 0x1p21f

/* A run with a skipped step equals the run without that step, whatever the optimizer counts and stores. */
static void test_skipped_is_not_counted(void **state)
{
	static const struct {
		const char *optimizer, *excluded;
		double momentum, weight_decay;
		bool average;
	} cases[] = {
		{ "adam", NULL, 0, 0, true },
		{ "adamw", "bias", 0, 0.1, false },
		{ "sgd", NULL, 0, 0, false },
		{ "sgd", NULL, 0.9, 0.01, false },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct config config = config_of(PRECISION_MIXED_FLOAT16);
		struct model *skipping, *other;

		config.optimizer.name = cases[c].optimizer;
		config.optimizer.momentum = cases[c].momentum;
		config.optimizer.weight_decay = cases[c].weight_decay;
		config.optimizer.exclude_from_weight_decay = cases[c].excluded;
		config.optimizer.use_ema = cases[c].average;
		skipping = open_model(&config);
		other = open_model(&config);
		set_scale(skipping, TOO_LARGE, 0, 0);
		set_scale(other, TOO_LARGE / 2, 0, 0);
		train(skipping, 3, 4);
		assert_true(differ(skipping, other, "dense/kernel") == 0);
		train(skipping, 0, 3);
		train(other, 0, 3);
		assert_scale(skipping, TOO_LARGE / 2, 3, 1);
		assert_scale(other, TOO_LARGE / 2, 3, 0);
		assert_true(differ(skipping, other, "dense/kernel") < 1e-6);
		if (cases[c].average)
			assert_true(differ(skipping, other, "optimizer/average/dense/kernel") < 1e-6);
		model_close(skipping);
		model_close(other);
	}
}

static void test_scale_grows(void **state)
{
	const struct config config = config_of(PRECISION_MIXED_FLOAT16);
	struct model *model = open_model(&config);

	(void)state;
	set_scale(model, 1024, 1998, 0);
	train(model, 0, 1);
	assert_scale(model, 1024, 1999, 0);
	train(model, 1, 2);
	assert_scale(model, 2048, 0, 0);
	model_close(model);
}

/* Of two batches that make an update the first one adds nothing, like a batch without rows that count. */
static void test_accumulation_goes_on(void **state)
{
	static const uint8_t all_empty[ROWS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	struct config config = config_of(PRECISION_MIXED_FLOAT16);
	struct model_batch empty = batch_of(3);
	struct model *overflowing, *other;
	struct error err = { 0 };

	(void)state;
	config.optimizer.gradient_accumulation_steps = 2;
	overflowing = open_model(&config);
	other = open_model(&config);
	set_scale(overflowing, TOO_LARGE, 0, 0);
	set_scale(other, TOO_LARGE / 2, 0, 0);
	empty.empty = all_empty;
	empty.valid_rows = 0;
	train(overflowing, 3, 4);
	must(model_train(other, &empty, &err), &err);
	train(overflowing, 0, 1);
	train(other, 0, 1);
	assert_scale(overflowing, TOO_LARGE / 2, 1, 0);
	assert_true(differ(overflowing, other, "dense/kernel") == 0);
	model_close(overflowing);
	model_close(other);
}

/* A gradient that overflows without any scale is an error. */
static void test_scale_below_one(void **state)
{
	static const double weights[CLASSES] = { 1e6, 1e6, 1e6 };
	struct config config = config_of(PRECISION_MIXED_FLOAT16);
	struct model_batch batch = batch_of(0);
	struct model_metrics metrics;
	struct error err = { 0 };
	struct model *model;

	(void)state;
	config.model.class_weights = (struct config_numbers){ CLASSES, weights };
	batch.valid_rows = 1;
	model = open_model(&config);
	set_scale(model, 2, 0, 0);
	must(model_train(model, &batch, &err), &err);
	must(model_metrics(model, &metrics, &err), &err);
	must(model_train(model, &batch, &err), &err);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	assert_string_equal(
		err.text,
		"step 2: a gradient is NaN or infinite even with a loss scale of 1, allowed: up to 65504, "
		"the largest float16; model.precision = \"mixed_bfloat16\" allows larger numbers");
	model_close(model);
}

/* A loss that is NaN or infinite is an error with every precision. */
static void test_loss_is_not_mended(void **state)
{
	(void)state;
	for (int precision = PRECISION_FLOAT32; precision <= PRECISION_MIXED_FLOAT16; precision++) {
		const struct config config = config_of(precision);
		static float nan_input[ROWS * INPUTS] __attribute__((aligned(4096)));
		struct model *model = open_model(&config);
		struct model_batch batch = batch_of(0);
		struct model_metrics metrics;
		struct error err = { 0 };

		nan_input[5] = NAN;
		batch.input[0] = nan_input;
		must(model_train(model, &batch, &err), &err);
		assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
		assert_int_equal(strncmp(err.text, "step 1: the loss became NaN or infinite", 39), 0);
		model_close(model);
	}
}

/* ---- Checkpoints ---- */

static void write_checkpoint(struct model *model)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	must(safetensors_write(path, tensors, count, NULL, 0, &err), &err);
	model_snapshot_release(model);
}

/* As traind resumes: without model_init(). */
static struct model *load_checkpoint(const struct config *config)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	struct model *model = NULL;
	struct error err = { 0 };

	must(model_open(gpu, config, true, &model, &err), &err);
	must(safetensors_open(path, &file, &err), &err);
	must(checkpoint_load(model, path, file, false, &err), &err);
	return model;
}

static void test_scale_outlives_a_checkpoint(void **state)
{
	const struct config config = config_of(PRECISION_MIXED_FLOAT16);
	struct model *model = open_model(&config), *loaded;

	(void)state;
	set_scale(model, 4096, 5, 0);
	train(model, 0, 3);
	write_checkpoint(model);
	loaded = load_checkpoint(&config);
	assert_scale(loaded, 4096, 8, 0);
	train(model, 3, 6);
	train(loaded, 3, 6);
	assert_scale(loaded, 4096, 11, 0);
	assert_true(differ(model, loaded, "dense/kernel") == 0);
	assert_true(differ(model, loaded, "optimizer/v/dense/kernel") == 0);
	model_close(model);
	model_close(loaded);
}

static void test_checkpoints_move_between_precisions(void **state)
{
	(void)state;
	for (int from = PRECISION_FLOAT32; from <= PRECISION_MIXED_FLOAT16; from++)
		for (int to = PRECISION_FLOAT32; to <= PRECISION_MIXED_FLOAT16; to++) {
			const struct config before = config_of(from), after = config_of(to);
			struct model *model = open_model(&before), *loaded;
			struct error err = { 0 };
			uint64_t skipped = 1;
			double scale = 0;

			train(model, 0, 2);
			write_checkpoint(model);
			loaded = load_checkpoint(&after);
			assert_string_equal(model_graph_hash(model), model_graph_hash(loaded));
			assert_int_equal(model_step(loaded), 2);
			assert_true(differ(model, loaded, "dense/kernel") == 0);
			must(model_loss_scale(loaded, &scale, &skipped, &err), &err);
			assert_true(scale == (to == PRECISION_MIXED_FLOAT16 ? 32768 : 1) && !skipped);
			if (to == PRECISION_MIXED_FLOAT16)
				assert_scale(loaded, 32768, from == to ? 2 : 0, 0);
			train(loaded, 2, 3);
			model_close(model);
			model_close(loaded);
		}
}

static int open_all(void **state)
{
	const int fd = mkstemp(path);

	(void)state;
	gpu = open_device();
	for (uint32_t b = 0; b < BATCHES; b++)
		fill_batch(b + 1, ROWS, INPUTS, CLASSES, input[b], label[b]);
	return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gradients),
		cmocka_unit_test(test_large_products),
		cmocka_unit_test(test_predictions),
		cmocka_unit_test(test_overflow_skips),
		cmocka_unit_test(test_skipped_is_not_counted),
		cmocka_unit_test(test_scale_grows),
		cmocka_unit_test(test_accumulation_goes_on),
		cmocka_unit_test(test_scale_below_one),
		cmocka_unit_test(test_loss_is_not_mended),
		cmocka_unit_test(test_scale_outlives_a_checkpoint),
		cmocka_unit_test(test_checkpoints_move_between_precisions),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
