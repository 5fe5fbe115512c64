/* SPDX-License-Identifier: Apache-2.0 */
/* How many launches a training step has on a GPU. Each takes 5 us of the host's time (tests/bench/README.md),
 * which bounds the step of a small network. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/passes.h"

#define ROWS 8u

static struct gpu *gpu;

#define CONV(n, bias)                                                                                   \
	OP("conv2d", ATTRIBUTES(4, INT_ATTRIBUTE("filters", n), INTS_ATTRIBUTE("kernel_size", 2, 3, 3), \
				TEXT_ATTRIBUTE("padding", "same"), BOOL_ATTRIBUTE("use_bias", bias)))
#define POOL OP("max_pooling2d", ATTRIBUTES(1, INTS_ATTRIBUTE("pool_size", 2, 2, 2)))

static struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
					 RELU,       DROPOUT(0.2), DENSE(2),     SOFTMAX };
static struct config_layer pictures[] = { CONV(32, 1), RELU,        POOL,   CONV(64, 1),   RELU,
					  POOL,        CONV(64, 1), RELU,   OP("flatten"), DENSE(64),
					  RELU,        DENSE(5),    SOFTMAX };
static struct config_layer residual[] = { CONV(64, 0),
					  OP("batch_norm"),
					  NAMED("relu", "a"),
					  CONV(64, 0),
					  OP("batch_norm"),
					  RELU,
					  CONV(64, 0),
					  NAMED("batch_norm", "b"),
					  OP("add", INPUTS_OF(2, "a", "b")),
					  RELU,
					  OP("global_average_pooling2d"),
					  DENSE(5),
					  SOFTMAX };

static const struct {
	const char *label;
	struct config_layer *layers;
	uint32_t count;
	uint64_t shape[3], classes;
	uint32_t launches;
} steps[] = {
	{ "article", article, sizeof(article) / sizeof(*article), { 512 }, 2, 8 },
	{ "small CNN", pictures, sizeof(pictures) / sizeof(*pictures), { 32, 32, 3 }, 5, 30 },
	{ "residual block", residual, sizeof(residual) / sizeof(*residual), { 16, 16, 64 }, 5, 57 },
};

static struct config config_of(size_t i)
{
	struct config config = model_config(steps[i].layers, steps[i].count, 1, steps[i].classes, ROWS);

	config.feature[0].rank = 0;
	for (uint32_t d = 0; d < 3 && steps[i].shape[d]; d++)
		config.feature[0].shape[config.feature[0].rank++] = steps[i].shape[d];
	return config;
}

static void test_launches(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const struct config config = config_of(i);
		struct harness h;

		harness_open(&h, gpu, &config, false);
		pass_emit_train(&h.plan);
		if (h.plan.launches != steps[i].launches)
			fail_msg("%s: %u launches, not %u", steps[i].label, h.plan.launches,
				 steps[i].launches);
		harness_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_launches) };
	int failed;

	gpu = open_device();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	close_device(gpu);
	return failed;
}
