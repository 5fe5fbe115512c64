/* SPDX-License-Identifier: Apache-2.0 */
/* Every optimizer, with everything that happens to gradients before it, against the float64 reference over
 * several steps; and the faults that optimizers report. */
#include "tests/reference.h"

#include "model/learn/gradients.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"

#define INPUTS 300u
#define UNITS  30u
#define COUNT  (INPUTS * UNITS)

static struct config_layer layers[] = { DENSE(UNITS), SOFTMAX };

static struct config base_config(void)
{
	return model_config(layers, 2, INPUTS, UNITS, 4);
}

static void open_plan(struct harness *h, const struct config *config)
{
	harness_open(h, gpu, config, true);
	optimizer_emit(&h->plan);
	harness_bind(h, program);
}

/* `step`: number of steps before this one. */
static void run_step(struct harness *h, uint64_t step)
{
	struct plan_values values = { .rows = 4 };

	optimizer_values(&h->graph, step, &values);
	harness_run(h, &values);
}

static bool is_parameter(const struct harness *h, uint32_t tensor)
{
	return graph_at(&h->graph, tensor)->role == ROLE_PARAMETER;
}

/* Gives the same numbers to the device and to the reference. */
static void put_noise(struct harness *h, uint32_t tensor, double *reference, double size, uint64_t *seed)
{
	static float numbers[COUNT];

	for (uint32_t e = 0; e < graph_at(&h->graph, tensor)->elements; e++) {
		numbers[e] = e % 5 ? (float)(noise(seed) * size) : 0; /* some are zero, as after a relu */
		reference[e] = (double)numbers[e];
	}
	harness_put(h, tensor, numbers);
}

static void compare(struct harness *h, uint32_t tensor, const double *wanted, uint64_t step)
{
	static float found[COUNT];
	double most = 1e-3;

	harness_get(h, tensor, found);
	for (uint32_t e = 0; e < graph_at(&h->graph, tensor)->elements; e++)
		most = fmax(most, fabs(wanted[e]));
	for (uint32_t e = 0; e < graph_at(&h->graph, tensor)->elements; e++)
		if (!(fabs((double)found[e] - wanted[e]) <= 2e-6 * most))
			fail_msg("step %lu: %s[%u] is %.9g, not %.9g", step,
				 graph_at(&h->graph, tensor)->name, e, (double)found[e], wanted[e]);
}

static uint32_t slot_of(const struct harness *h, const char *slot, uint32_t parameter)
{
	char name[GRAPH_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "optimizer/%s/%.100s", slot, graph_at(&h->graph, parameter)->name);
	for (uint32_t i = 0; i < h->graph.tensors; i++)
		if (!strcmp(graph_at(&h->graph, i)->name, name))
			return i;
	fail_msg("no tensor %s", name);
	return GRAPH_NO_TENSOR;
}

/* Runs seven steps of every parameter with gradients of magnitude `size`. */
static void follows_from(const struct config *config, double size)
{
	struct reference reference;
	struct harness h;
	uint64_t seed = 1;

	open_plan(&h, config);
	reference_open(&reference, &h.graph);
	for (uint32_t i = 0; i < h.graph.tensors; i++)
		if (is_parameter(&h, i))
			put_noise(&h, i, reference.value[i], 1, &seed);
	for (uint64_t step = 0; step < 7; step++) {
		for (uint32_t i = 0; i < h.graph.tensors; i++)
			if (is_parameter(&h, i))
				put_noise(&h, graph_at(&h.graph, i)->gradient, reference.gradient[i], size,
					  &seed);
		run_step(&h, step);
		reference_update(&reference, step);
		for (uint32_t i = 0; i < h.graph.tensors; i++) {
			if (!is_parameter(&h, i))
				continue;
			compare(&h, i, reference.value[i], step);
			if (config->optimizer.use_ema)
				compare(&h, slot_of(&h, "average", i), reference.average[i], step);
			if (config->optimizer.gradient_accumulation_steps > 1)
				compare(&h, slot_of(&h, "accumulator", i), reference.accumulator[i], step);
		}
	}
	reference_close(&reference);
	harness_close(&h);
}

static void follows(const struct config *config)
{
	follows_from(config, 0.1);
}

static void test_adam(void **state)
{
	struct config config = base_config();

	(void)state;
	follows(&config);
	config.optimizer.learning_rate = 0.1;
	config.optimizer.beta_1 = 0.5;
	config.optimizer.beta_2 = 0.9;
	config.optimizer.epsilon = 1e-3;
	follows(&config);
}

static void test_adamw(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "adamw";
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.weight_decay = 0.5;
	follows(&config);
	config.optimizer.exclude_from_weight_decay = " bias,";
	follows(&config);
	config.optimizer.global_clipnorm = 1;
	follows(&config);
}

static void test_sgd(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.weight_decay = 0.3;
	follows(&config);
	config.optimizer.momentum = 0.9;
	follows(&config);
	config.optimizer.nesterov = true;
	follows(&config);
}

static void test_rmsprop(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "rmsprop";
	follows(&config);
	config.optimizer.learning_rate = 0.01;
	config.optimizer.rho = 0.5;
	config.optimizer.epsilon = 1e-3;
	config.optimizer.weight_decay = 0.3;
	follows(&config);
	config.optimizer.momentum = 0.9;
	follows(&config);
}

static void test_adagrad(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "adagrad";
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.initial_accumulator_value = 0.01;
	config.optimizer.epsilon = 1e-3;
	config.optimizer.weight_decay = 0.3;
	follows(&config);
}

static void test_adamax(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "adamax";
	follows(&config);
	config.optimizer.learning_rate = 0.1;
	config.optimizer.beta_1 = 0.5;
	config.optimizer.beta_2 = 0.7;
	config.optimizer.epsilon = 1e-3;
	config.optimizer.weight_decay = 0.3;
	follows(&config);
}

static void test_lion(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "lion";
	follows(&config);
	config.optimizer.learning_rate = 0.1;
	config.optimizer.beta_1 = 0.5;
	config.optimizer.beta_2 = 0.7;
	config.optimizer.weight_decay = 0.3;
	follows(&config);
}

/* Compares gradients beyond the limit of clipping and gradients within it. */
static void test_clips(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.1;
	config.optimizer.clipvalue = 0.05;
	follows(&config);
	config.optimizer.clipvalue = 0;
	config.optimizer.clipnorm = 1; /* the kernel's norm is about 5, the bias's 0.3 */
	follows(&config);
	config.optimizer.clipnorm = 0;
	config.optimizer.global_clipnorm = 1;
	follows(&config);
	config.optimizer.global_clipnorm = 100;
	follows(&config);
}

static void test_accumulation(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.gradient_accumulation_steps = 3;
	follows(&config);
	config.optimizer.clipvalue = 0.03;
	config.optimizer.use_ema = true;
	config.optimizer.ema_momentum = 0.8;
	follows(&config);
}

static void test_average(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.use_ema = true;
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.ema_momentum = 0.5;
	config.optimizer.ema_overwrite_frequency = 3;
	follows(&config);
}

static struct config_layer penalized[] = {
	{ .op = "dense",
	  .name = "",
	  .attributes = 4,
	  .attribute = { INT_ATTRIBUTE("units", UNITS), FLOAT_ATTRIBUTE("kernel_l1", 0.02),
			 FLOAT_ATTRIBUTE("kernel_l2", 0.05), FLOAT_ATTRIBUTE("bias_l2", 0.3) },
	  .line = 6 },
	SOFTMAX
};

/* Penalties, alone and together with accumulation and clipping. */
static void test_penalties(void **state)
{
	struct config config = model_config(penalized, 2, INPUTS, UNITS, 4);

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.gradient_accumulation_steps = 2;
	config.optimizer.global_clipnorm = 1;
	follows(&config);
}

/* The sum of the penalties that the loss reads, worked out by hand. */
static void test_penalty_sum(void **state)
{
	static float ones[COUNT];
	const struct config config = model_config(penalized, 2, INPUTS, UNITS, 4);
	const struct plan_values values = { .rows = 4 };
	struct harness h;
	float sum = 0;

	(void)state;
	harness_open(&h, gpu, &config, true);
	gradients_emit_penalty(&h.plan);
	harness_bind(&h, program);
	for (uint32_t e = 0; e < COUNT; e++)
		ones[e] = e % 2 ? -1 : 1;
	harness_put(&h, h.graph.node[0].parameter[0], ones);
	harness_put(&h, h.graph.node[0].parameter[1], ones);
	harness_run(&h, &values);
	harness_get(&h, h.graph.gradients.penalty, &sum);
	assert_near(sum, COUNT * 0.07 + UNITS * 0.3, 1e-3);
	harness_close(&h);
}

/* Without penalties, accumulation and clipping only the update is launched. */
static void test_launches(void **state)
{
	struct config config = base_config();
	struct harness h;

	(void)state;
	harness_open(&h, gpu, &config, true);
	optimizer_emit(&h.plan);
	assert_int_equal(h.plan.launches, 1);
	harness_close(&h);
	config.optimizer.global_clipnorm = 1;
	config.optimizer.gradient_accumulation_steps = 2;
	config.optimizer.use_ema = true;
	harness_open(&h, gpu, &config, true);
	optimizer_emit(&h.plan);
	assert_int_equal(h.plan.launches, 5);
	harness_close(&h);
}

/* Worked out by hand from Keras's documentation: w = 1, g = 0.5 then -0.25, all defaults but learning_rate =
 * 0.1. */
static void test_known_values(void **state)
{
	static const struct {
		const char *name;
		double momentum;
		bool nesterov;
		double after[2];
	} cases[] = {
		{ "adam", 0, false, { 0.9, 0.873367 } },
		{ "sgd", 0, false, { 0.95, 0.975 } },
		{ "sgd", 0.9, false, { 0.95, 0.93 } },
		{ "sgd", 0.9, true, { 0.905, 0.912 } },
	};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct config config = base_config();
		double w = 1, slot0 = 0, slot1 = 0, g[2] = { 0.5, -0.25 };

		config.optimizer.name = cases[c].name;
		config.optimizer.momentum = cases[c].momentum;
		config.optimizer.nesterov = cases[c].nesterov;
		for (uint64_t t = 1; t <= 2; t++) {
			optimizer_find(cases[c].name)
				->reference(&config, 0.1, t, 1, &g[t - 1], &w, &slot0, &slot1);
			assert_near(w, cases[c].after[t - 1], 1e-6);
		}
	}
}

static void test_own_rates(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.learning_rate = 0; /* 0: the configuration has no learning rate */
	assert_near(optimizer_learning_rate(&config, optimizer_find("sgd"), 1), 0.01, 1e-12);
	assert_near(optimizer_learning_rate(&config, optimizer_find("adam"), 1), 0.001, 1e-12);
	assert_near(optimizer_weight_decay(&config, optimizer_find("adam")), 0, 0);
	assert_near(optimizer_weight_decay(&config, optimizer_find("adamw")), 0.004, 1e-12);
	config.optimizer.weight_decay = 0.1;
	assert_near(optimizer_weight_decay(&config, optimizer_find("sgd")), 0.1, 1e-12);
}

/* Checks the values that a step's launches get: `t` counts updates, schedules count batches. */
static void test_values(void **state)
{
	struct config config = base_config();
	struct graph graph;
	struct plan_values values = { 0 };
	struct error err = { 0 };

	(void)state;
	config.optimizer.gradient_accumulation_steps = 2;
	config.optimizer.use_ema = true;
	config.optimizer.ema_overwrite_frequency = 2;
	config.optimizer.schedule = "cosine";
	config.optimizer.decay_steps = 10;
	config.optimizer.name = "sgd"; /* whose rate has no correction in the first steps */
	assert_int_equal(graph_build(&config, true, &graph, &err), 0);
	for (uint64_t step = 0; step < 8; step++) {
		optimizer_values(&graph, step, &values);
		assert_int_equal(values.update, step % 2);
		assert_near(values.rate, 0.5e-3 * (1 + cos(M_PI * (double)step / 10)), 1e-9);
		assert_near(values.average_momentum, step < 2 ? 0 : 0.99, 1e-7);
		assert_int_equal(values.average_replaces, step / 2 % 2);
	}
	graph_done(&graph);
}

/* A NaN anywhere is reported with its element, and of several NaN of a chunk the first. Everything else stays
 * clean, the padding included. */
static void test_faults(void **state)
{
	static float gradient[COUNT];
	static const uint32_t places[] = { 0, 1, 15, 16, 4095, 4096, COUNT - 1 };
	const struct config config = base_config();

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct harness h;
		uint32_t faults[16] = { 0 }, noted = 0;

		open_plan(&h, &config);
		const struct tensor *chunks = graph_at(&h.graph, h.graph.chunk_fault);

		assert_true(chunks->elements <= 16);
		memset(gradient, 0, sizeof(gradient));
		for (uint32_t e = places[i]; e < COUNT && e / FAULT_CHUNK == places[i] / FAULT_CHUNK; e += 7)
			gradient[e] = NAN;
		harness_put(&h, graph_at(&h.graph, h.graph.node[0].parameter[0])->gradient, gradient);
		run_step(&h, 0);
		harness_get(&h, h.graph.chunk_fault, faults);
		for (uint32_t c = 0; c < chunks->elements; c++)
			if (faults[c]) {
				assert_int_equal(faults[c], 1 + places[i]);
				assert_int_equal(c, places[i] / FAULT_CHUNK);
				noted++;
			}
		assert_int_equal(noted, 1);
		harness_close(&h);
	}
}

static int open_all(void **state)
{

	(void)state;
	open_kernels();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adam),         cmocka_unit_test(test_adamw),
		cmocka_unit_test(test_rmsprop),      cmocka_unit_test(test_adagrad),
		cmocka_unit_test(test_adamax),       cmocka_unit_test(test_lion),
		cmocka_unit_test(test_sgd),          cmocka_unit_test(test_clips),
		cmocka_unit_test(test_accumulation), cmocka_unit_test(test_average),
		cmocka_unit_test(test_penalties),    cmocka_unit_test(test_penalty_sum),
		cmocka_unit_test(test_launches),     cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_own_rates),    cmocka_unit_test(test_values),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
