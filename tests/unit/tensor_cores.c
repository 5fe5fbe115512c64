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

/* The product where row `row` of the first block, column `column` of the second and term `term` of the first
 * are taken for the rows, columns and terms that the arrays name. */
static void multiply_as(const int *row, const int *column, const int *term, float *ret_sums)
{
	for (int i = 0; i < BLOCK; i++)
		for (int j = 0; j < BLOCK; j++) {
			int sum = 0;

			for (int k = 0; k < BLOCK; k++)
				sum += number(0, row[i], term[k]) * number(1, column[j], k);
			ret_sums[i * BLOCK + j] = (float)sum;
		}
}

/* Two rows, two columns or two terms that are exchanged are found; so are rows in place of columns. */
static void test_another_layout(void **state)
{
	int plain[BLOCK], exchanged[BLOCK];
	float sums[BLOCK * BLOCK], turned[BLOCK * BLOCK];

	(void)state;
	for (int i = 0; i < BLOCK; i++)
		plain[i] = exchanged[i] = i;
	multiply_as(plain, plain, plain, sums);
	assert_true(is_product(sums));
	for (int i = 0; i < BLOCK * BLOCK; i++)
		turned[i] = sums[i % BLOCK * BLOCK + i / BLOCK];
	assert_false(is_product(turned));
	for (int a = 0; a < BLOCK; a++)
		for (int b = a + 1; b < BLOCK; b++) {
			exchanged[a] = b;
			exchanged[b] = a;
			multiply_as(exchanged, plain, plain, sums);
			assert_false(is_product(sums));
			multiply_as(plain, exchanged, plain, sums);
			assert_false(is_product(sums));
			multiply_as(plain, plain, exchanged, sums);
			assert_false(is_product(sums));
			exchanged[a] = a;
			exchanged[b] = b;
		}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_another_layout),
		cmocka_unit_test(test_no_such_device),
	};

	return cmocka_run_group_tests(tests, open_device_alone, close_kernels);
}
