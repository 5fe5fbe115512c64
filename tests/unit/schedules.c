/* SPDX-License-Identifier: Apache-2.0 */
/* Learning rates step by step, against Keras, and keys that do not fit together. Needs no device. */
#include "tests/reference.h"

#include "model/learn/schedules.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/mistakes.h"

static const double boundaries[] = { 10, 20 }, values[] = { 0.1, 0.05, 0.01 }, descending[] = { 20, 10 },
		    broken[] = { 10, 20.5 };
static struct config_layer layers[] = { DENSE(2), SOFTMAX };

static struct config base_config(void)
{
	struct config config = model_config(layers, 2, 3, 2, 4);

	config.optimizer.learning_rate = 0.1;
	return config;
}

struct point {
	uint64_t step;
	double rate;
};

static void follows(const struct config *config, const struct point *point, size_t points)
{
	for (size_t i = 0; i < points; i++)
		if (!(fabs(schedule_rate(config, 7, point[i].step) - point[i].rate) < 1e-7))
			fail_msg("step %lu: %.9g, not %.9g", point[i].step,
				 schedule_rate(config, 7, point[i].step), point[i].rate);
}
#define FOLLOWS(config, ...)                                   \
	follows(config, (const struct point[]){ __VA_ARGS__ }, \
		sizeof((const struct point[]){ __VA_ARGS__ }) / sizeof(struct point))

static void test_constant(void **state)
{
	struct config config = base_config();

	(void)state;
	FOLLOWS(&config, { 0, 0.1 }, { 1, 0.1 }, { 1000000, 0.1 });
	/* 0: the configuration has no learning rate, so the optimizer's default applies */
	config.optimizer.learning_rate = 0;
	FOLLOWS(&config, { 0, 7 }, { 5, 7 });
	config.optimizer.warmup_steps = 4;
	config.optimizer.warmup_from = 3;
	FOLLOWS(&config, { 0, 3 }, { 1, 4 }, { 3, 6 }, { 4, 7 }, { 5, 7 });
}

/* Expected values: keras.optimizers.schedules.PiecewiseConstantDecay([10, 20], [0.1, 0.05, 0.01]) */
static void test_step(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "step";
	config.optimizer.boundaries = (struct config_numbers){ 2, boundaries };
	config.optimizer.values = (struct config_numbers){ 3, values };
	FOLLOWS(&config, { 0, 0.1 }, { 10, 0.1 }, { 11, 0.05 }, { 20, 0.05 }, { 21, 0.01 }, { 1000, 0.01 });
	config.optimizer.warmup_steps = 5;
	FOLLOWS(&config, { 0, 0 }, { 4, 0.08 }, { 5, 0.1 }, { 15, 0.1 }, { 16, 0.05 });
}

/* Expected values: keras.optimizers.schedules.CosineDecay(0.1, 100, alpha=0.1), and (0.01, 100,
 * warmup_target=0.1, warmup_steps=8) */
static void test_cosine(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "cosine";
	config.optimizer.decay_steps = 100;
	config.optimizer.alpha = 0.1;
	FOLLOWS(&config, { 0, 0.1 }, { 1, 0.09997779131 }, { 50, 0.055 }, { 99, 0.01002220623 },
		{ 100, 0.01 }, { 1000, 0.01 });
	config.optimizer.alpha = 0;
	config.optimizer.warmup_steps = 8;
	config.optimizer.warmup_from = 0.01;
	FOLLOWS(&config, { 0, 0.01 }, { 1, 0.02125 }, { 7, 0.08875 }, { 8, 0.1 }, { 9, 0.09997532517 },
		{ 58, 0.05 }, { 108, 0 }, { 500, 0 });
}

/* Expected values: keras.optimizers.schedules.PolynomialDecay(0.1, 100, 0.01, power=1 and 2). */
static void test_polynomial(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "linear";
	config.optimizer.decay_steps = 100;
	config.optimizer.alpha = 0.1;
	FOLLOWS(&config, { 0, 0.1 }, { 1, 0.0991 }, { 50, 0.055 }, { 99, 0.0109 }, { 100, 0.01 },
		{ 900, 0.01 });
	config.optimizer.schedule = "polynomial";
	FOLLOWS(&config, { 0, 0.1 }, { 50, 0.055 }, { 900, 0.01 });
	config.optimizer.power = 2;
	FOLLOWS(&config, { 0, 0.1 }, { 1, 0.098209 }, { 50, 0.0325 }, { 99, 0.010009 }, { 900, 0.01 });
}

/* Expected values: keras.optimizers.schedules.CosineDecayRestarts(0.1, 10, t_mul=2 and 1, m_mul=0.5,
 * alpha=0.1). */
static void test_restarts(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "cosine_restarts";
	config.optimizer.decay_steps = 10;
	config.optimizer.m_mul = 0.5;
	config.optimizer.alpha = 0.1;
	FOLLOWS(&config, { 0, 0.1 }, { 5, 0.055 }, { 9, 0.01220246 }, { 10, 0.055 }, { 11, 0.05472299 },
		{ 20, 0.0325 }, { 29, 0.01027701 }, { 30, 0.0325 }, { 69, 0.01003468 }, { 70, 0.02125 });
	config.optimizer.t_mul = 1;
	FOLLOWS(&config, { 0, 0.1 }, { 10, 0.055 }, { 15, 0.0325 }, { 25, 0.02125 });
	/* The number of the period is computed: a walk through all periods would take weeks. */
	config.optimizer.decay_steps = 2;
	FOLLOWS(&config, { UINT64_C(1) << 53, 0.01 });
}

/* Expected values: torch.optim.lr_scheduler.OneCycleLR(0.1, total_steps=100). */
static void test_one_cycle(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "one_cycle";
	config.optimizer.decay_steps = 100;
	FOLLOWS(&config, { 0, 0.004 }, { 1, 0.004281378 }, { 10, 0.02951639 }, { 28, 0.09971862 },
		{ 29, 0.1 }, { 30, 0.09994965 }, { 60, 0.05892801 }, { 98, 5.074647e-5 }, { 99, 4e-7 },
		{ 500, 4e-7 });
}

static void test_mistakes(void **state)
{
	struct config config = base_config();

	(void)state;
	config.optimizer.schedule = "stairs";
	expect(&config, "k.conf:1: optimizer.schedule: found \"stairs\", allowed: constant, step, cosine");
	config.optimizer.schedule = "constant";
	config.optimizer.warmup_from = 0.1;
	expect(&config, "optimizer.warmup_from: found 0.1, which nothing reads, allowed: with "
			"optimizer.warmup_steps ");
	config.optimizer.warmup_from = 0;
	config.optimizer.schedule = "cosine";
	expect(&config, "optimizer.decay_steps: found 0, allowed with schedule \"cosine\": at least 1");
	config.optimizer.schedule = "constant";
	config.optimizer.decay_steps = 5;
	expect(&config,
	       "optimizer.decay_steps: found 5, which nothing reads, allowed: with optimizer.schedule = "
	       "\"cosine\", \"linear\", \"polynomial\", \"cosine_restarts\" or \"one_cycle\"");
	config.optimizer.decay_steps = 0;
	config.optimizer.schedule = "step";
	expect(&config, "optimizer.boundaries: found nothing, allowed with schedule \"step\": at least one");
	config.optimizer.boundaries = (struct config_numbers){ 2, boundaries };
	config.optimizer.values = (struct config_numbers){ 2, values };
	expect(&config, "optimizer.values: found 2, allowed: 3, one more than boundaries");
	config.optimizer.values.count = 3;
	config.optimizer.boundaries.at = descending;
	expect(&config, "optimizer.boundaries: found 10, allowed: ascending whole steps");
	config.optimizer.boundaries.at = broken;
	expect(&config, "optimizer.boundaries: found 20.5, allowed: ascending whole steps");
	config.optimizer.boundaries.at = boundaries;
	config.optimizer.schedule = "constant";
	expect(&config, "optimizer.boundaries: found [ 1e+01, 2e+01 ], which nothing reads, allowed: with "
			"optimizer.schedule = \"step\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant), cmocka_unit_test(test_step),
		cmocka_unit_test(test_cosine),   cmocka_unit_test(test_polynomial),
		cmocka_unit_test(test_restarts), cmocka_unit_test(test_one_cycle),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
