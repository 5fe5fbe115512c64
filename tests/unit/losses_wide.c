/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every loss over rows of one output to more than a thousand, with both kinds of kernels (plan/rows.h):
 * against the float64 reference, and the same bits each time.
 */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"
#include "tests/unit/loss_keys.h"

#define ROWS        67u /* not a multiple of the rows of a group */
#define OUTPUTS_MAX 1030u

static const char *const names[] = { "categorical_crossentropy",
				     "sparse_categorical_crossentropy",
				     "binary_crossentropy",
				     "categorical_focal_crossentropy",
				     "binary_focal_crossentropy",
				     "mean_squared_error",
				     "mean_absolute_error",
				     "huber",
				     "log_cosh",
				     "poisson",
				     "hinge",
				     "squared_hinge",
				     "kl_divergence",
				     "cosine_similarity" };
#define NAMES (sizeof(names) / sizeof(*names))
#define LOSSES_OF_ALL_WIDTHS \
	6 /* the others, which share their code, are tested with a quarter of the widths */
static const uint64_t widths[] = { 1,  2,  3,  4,  5,   7,   8,   10,  16,  31,   32,   33,
				   64, 65, 66, 96, 127, 128, 129, 256, 260, 1000, 1025, OUTPUTS_MAX };

static struct {
	float z[ROWS * OUTPUTS_MAX], real[ROWS * OUTPUTS_MAX];
	int64_t whole[ROWS * OUTPUTS_MAX];
	double logits[ROWS * OUTPUTS_MAX], label[ROWS * OUTPUTS_MAX];
} batch;
static uint8_t empty[ROWS];
static float weight[ROWS];
static double sample[ROWS];

struct results {
	float loss[ROWS], dz[ROWS * OUTPUTS_MAX];
	uint32_t hit[ROWS];
};

/* A quarter of the rows has its largest output twice, before and after the wanted one or as the wanted one.
 */
static void fill(const struct loss *loss, uint64_t outputs, bool whole)
{
	const uint64_t labels = loss->class_label ? 1 : outputs;
	uint64_t seed = outputs;

	for (uint64_t i = 0; i < ROWS * outputs; i++)
		batch.z[i] = some_output(loss->name, &seed);
	for (uint64_t i = 0; i < ROWS * labels; i++)
		batch.real[i] = whole ? 0 : (float)(0.5 + 0.5 * noise(&seed));
	for (uint64_t r = 0; r < ROWS; r++) {
		const uint64_t wanted = r * 37 % outputs;

		if (r % 4 == 0)
			batch.z[r * outputs + wanted] = batch.z[r * outputs + r * 11 % outputs] =
				loss->kind == METRICS_NUMBERS ? 0.75f : 5;
		if (whole)
			batch.real[loss->class_label ? r : r * outputs + wanted] =
				loss->class_label ? (float)wanted : 1;
	}
	for (uint64_t i = 0; i < ROWS * outputs; i++)
		batch.logits[i] = (double)batch.z[i];
	for (uint64_t i = 0; i < ROWS * labels; i++) {
		batch.whole[i] = (int64_t)batch.real[i];
		batch.label[i] = (double)batch.real[i];
	}
}

static struct config config_of(const struct loss *loss, uint64_t outputs, bool whole)
{
	static struct config_layer classes[2], numbers[2];
	struct config_layer *layers = loss->class_label ? classes : numbers;
	struct config config;

	layers[0] = (struct config_layer)DENSE((int64_t)outputs);
	layers[1] = loss->class_label ? (struct config_layer)SOFTMAX : (struct config_layer)RELU;
	config = model_config(layers, 2, 3, loss->class_label ? 1 : outputs, ROWS);
	config.feature[1].dtype = whole ? CONFIG_INT64 : CONFIG_FLOAT32;
	/* The graph is built with a loss that allows these layers, then gets the tested one. */
	config.model.loss = loss->class_label ? loss->name : "mean_squared_error";
	config.features = 3;
	config.feature[2] = (struct config_feature){ .name = "weight", .dtype = CONFIG_FLOAT32 };
	config.model.sample_weight = "weight";
	return config;
}

static void run(const struct loss *loss, uint64_t outputs, bool whole, bool cpu, struct results *results)
{
	struct config config = config_of(loss, outputs, whole);
	struct harness h;
	struct plan_values values = { .rows = ROWS,
				      .valid_rows = ROWS - 2,
				      .row_weight = 1.0f / (ROWS - 2),
				      .label = whole ? to_device(batch.whole, sizeof(batch.whole))
						     : to_device(batch.real, sizeof(batch.real)),
				      .weight = to_device(weight, sizeof(weight)),
				      .empty = to_device(empty, sizeof(empty)) };

	harness_open(&h, gpu, &config, cpu);
	h.graph.loss = loss;
	config.model.top_k = 2;
	config.model.label_smoothing = loss->smooths ? 0.1 : 0;
	set_loss_keys(&config);
	loss_emit(&h.plan, true);
	harness_bind(&h, program);

	const uint32_t z = loss_logits(&h.graph);

	harness_put(&h, z, batch.z);
	harness_run(&h, &values);
	harness_get(&h, h.graph.row_loss, results->loss);
	harness_get(&h, h.graph.row_correct, results->hit);
	harness_get(&h, graph_at(&h.graph, z)->gradient, results->dz);
	gpu_buffer_free(values.label);
	gpu_buffer_free(values.weight);
	gpu_buffer_free(values.empty);
	harness_close(&h);
}

static void must_be_near(const char *what, uint64_t outputs, uint64_t i, double found, double wanted)
{
	/* The divergence of a row is a sum of terms of both signs, each of about 1. */
	const double terms = strcmp(what, "kl_divergence") == 0 ? 1e-7 * (double)outputs : 0;

	if (!(fabs(found - wanted) <= 2e-6 + terms + 4e-6 * fabs(wanted)))
		fail_msg("%lu outputs, %s[%lu] is %.9g, not %.9g", outputs, what, i, found, wanted);
}

static void compare(const struct loss *loss, uint64_t outputs, const struct results *found)
{
	static double row_loss[ROWS], row_correct[ROWS], row_top[ROWS], dz[ROWS * OUTPUTS_MAX];
	struct config config = { .model = { .top_k = 2, .label_smoothing = loss->smooths ? 0.1 : 0 } };
	const struct loss_reference reference = { .rows = ROWS,
						  .outputs = outputs,
						  .label_elements = loss->class_label ? 1 : outputs,
						  .z = batch.logits,
						  .label = batch.label,
						  .empty = empty,
						  .sample = sample,
						  .config = &config,
						  .training = true,
						  .row_loss = row_loss,
						  .row_correct = row_correct,
						  .row_top = row_top,
						  .dz = dz };

	set_loss_keys(&config);
	loss_reference(loss, &reference);
	for (uint32_t r = 0; r < ROWS; r++) {
		must_be_near(loss->name, outputs, r, (double)found->loss[r], row_loss[r]);
		must_be_near("hit", outputs, r, found->hit[r] & ROW_HIT, row_correct[r]);
		must_be_near("top", outputs, r, found->hit[r] & ROW_TOP ? 1 : 0, row_top[r]);
	}
	for (uint64_t i = 0; i < ROWS * outputs; i++)
		must_be_near("dz", outputs, i, (double)found->dz[i], dz[i]);
}

static void test_all_widths(void **state)
{
	static struct results first, again;

	(void)state;
	for (size_t i = 0; i < NAMES * 2 * 2 * sizeof(widths) / sizeof(*widths); i++) {
		const struct loss *loss = loss_find(names[i % NAMES]);
		const bool whole = i / NAMES % 2 || loss->class_label, cpu = i / (2 * NAMES) % 2;
		const uint64_t outputs = widths[i / (4 * NAMES)];

		if (i % NAMES >= LOSSES_OF_ALL_WIDTHS && i / (4 * NAMES) % 4 != 0)
			continue;

		fill(loss, outputs, whole);
		run(loss, outputs, whole, cpu, &first);
		run(loss, outputs, whole, cpu, &again);
		compare(loss, outputs, &first);
		assert_memory_equal(&first, &again, sizeof(first));
	}
}

static int open_all(void **state)
{
	(void)state;
	open_kernels();
	empty[2] = empty[ROWS - 1] = 1;
	for (uint32_t r = 0; r < ROWS; r++)
		sample[r] = (double)(weight[r] = (float)(r % 5) * 0.5f);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_widths) };

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
