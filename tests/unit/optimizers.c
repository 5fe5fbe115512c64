/* SPDX-License-Identifier: Apache-2.0 */
/* Every optimizer's kernel against its float64 reference over several steps, and the faults it reports. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

#define INPUTS 300u
#define UNITS  30u
#define COUNT  (INPUTS * UNITS)

static struct gpu *gpu;
static struct gpu_program *program;
static struct config_layer layers[] = { DENSE(UNITS), SOFTMAX };

static struct config base_config(void)
{
	return model_config(layers, 2, INPUTS, UNITS, 4);
}

static void open_plan(struct harness *h, const struct config *config)
{
	harness_open(h, gpu, config, true);
	h->graph.optimizer->emit(&h->plan);
	harness_bind(h, program);
}

static void run_step(struct harness *h, uint64_t t)
{
	const struct plan_values values = { .rows = 4,
					    .rate = (float)h->graph.optimizer->rate(h->graph.config, t) };

	harness_run(h, &values);
}

static void follows(const struct config *config)
{
	static float parameter[COUNT], gradient[COUNT];
	static double p[COUNT], g[COUNT], slot0[COUNT], slot1[COUNT];
	struct harness h;
	uint64_t seed = 1;

	open_plan(&h, config);
	const uint32_t kernel = h.graph.node[0].parameter[0];

	memset(slot0, 0, sizeof(slot0));
	memset(slot1, 0, sizeof(slot1));
	for (uint32_t i = 0; i < COUNT; i++)
		p[i] = (double)(parameter[i] = (float)noise(&seed));
	harness_put(&h, kernel, parameter);
	for (uint64_t t = 1; t <= 6; t++) {
		for (uint32_t i = 0; i < COUNT; i++) /* some gradients are zero, as behind a relu */
			g[i] = (double)(gradient[i] = i % 5 ? (float)noise(&seed) * 0.1f : 0.0f);
		harness_put(&h, graph_at(&h.graph, kernel)->gradient, gradient);
		run_step(&h, t);
		h.graph.optimizer->reference(config, t, COUNT, g, p, slot0, slot1);
	}
	harness_get(&h, kernel, parameter);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_near(parameter[i], p[i], 2e-6);
	harness_close(&h);
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

static void test_sgd(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.1;
	follows(&config);
	config.optimizer.momentum = 0.9;
	follows(&config);
	config.optimizer.nesterov = true;
	follows(&config);
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
		config.optimizer.learning_rate = 0.1;
		config.optimizer.momentum = cases[c].momentum;
		config.optimizer.nesterov = cases[c].nesterov;
		for (uint64_t t = 1; t <= 2; t++) {
			optimizer_find(cases[c].name)
				->reference(&config, t, 1, &g[t - 1], &w, &slot0, &slot1);
			assert_near(w, cases[c].after[t - 1], 1e-6);
		}
	}
}

static void test_own_rates(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.learning_rate = 0; /* not given */
	assert_near(optimizer_find("sgd")->rate(&config, 1), 0.01, 1e-12);
	config.optimizer.beta_1 = config.optimizer.beta_2 = 0;
	assert_near(optimizer_find("adam")->rate(&config, 1), 0.001, 1e-12);
}

/* A NaN anywhere is noted with its element; everything else stays clean, the padding too. */
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
		gradient[places[i]] = NAN;
		harness_put(&h, graph_at(&h.graph, h.graph.node[0].parameter[0])->gradient, gradient);
		run_step(&h, 1);
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
	struct error err = { 0 };

	(void)state;
	gpu = open_device();
	return kernels_build(gpu, &program, &err);
}

static int close_all(void **state)
{
	(void)state;
	gpu_program_free(program);
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adam),         cmocka_unit_test(test_sgd),
		cmocka_unit_test(test_known_values), cmocka_unit_test(test_own_rates),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
