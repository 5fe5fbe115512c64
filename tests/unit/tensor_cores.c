/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks that matrix instructions of AMD's GPUs multiply (kernels/waves.clh), computed by other
 * instructions in the same layouts; and what is not such a GPU. */
#include "model/plan/tensor_cores.c" // NOLINT(bugprone-suspicious-include): its statics

#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>

#include "tests/unit/device.h"

static bool is_right(enum dtype storage, const char *option)
{
	struct error err = { 0 };
	bool right;

	harness_must(tensor_cores_try(gpu, storage, option, &right, &err), &err);
	return right;
}

static void test_layouts(void **state)
{
	(void)state;
	assert_true(is_right(DTYPE_BF16, " -DMFMA"));
	assert_true(is_right(DTYPE_F16, " -DMFMA"));
	assert_true(is_right(DTYPE_BF16, " -DWMMA"));
	assert_true(is_right(DTYPE_F16, " -DWMMA"));
}

/* A layout with other rows, other columns, or rows in place of columns is found. */
static void test_another_layout(void **state)
{
	float right[BLOCK * BLOCK], other[3][BLOCK * BLOCK];

	(void)state;
	for (int i = 0; i < BLOCK; i++)
		for (int j = 0; j < BLOCK; j++) {
			float sum = 0;

			for (int k = 0; k < BLOCK; k++)
				sum += (float)(number(0, i, k) * number(1, j, k));
			right[i * BLOCK + j] = sum;
			other[0][(i / 2 + i % 2 * 8) * BLOCK + j] = sum;
			other[1][i * BLOCK + (j ^ 1)] = sum;
			other[2][j * BLOCK + i] = sum;
		}
	assert_true(is_product(right));
	for (int o = 0; o < 3; o++)
		assert_false(is_product(other[o]));
}

/* The program for a GPU of AMD names its instructions, which this device does not have. */
static void test_no_such_device(void **state)
{
	enum tensor_cores cores;
	struct error err = { 0 };

	(void)state;
	if (gpu_is_amd(gpu))
		skip();
	assert_false(is_right(DTYPE_BF16, WITH_WAVES));
	harness_must(kernels_tensor_cores(gpu, DTYPE_F32, false, &cores, &err), &err);
	assert_int_equal(cores, TENSOR_CORES_NONE);
}

static int open_all(void **state)
{
	(void)state;
	gpu = open_device();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_another_layout),
		cmocka_unit_test(test_no_such_device),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
