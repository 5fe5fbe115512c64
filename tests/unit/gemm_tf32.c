/* SPDX-License-Identifier: Apache-2.0 */
/* Compares products of float32 by tensor cores (kernels/gemm_mma.cl), which round it to TF32, with float64;
 * on devices without these cores their instructions are computed by others. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/products.h"

static const struct tile_size tile_sizes[] = {
#define TILE_OF_SIZE(size, tile_rows, tile_columns, ...) TILE_SIZE("mma", size, tile_rows, tile_columns)
	MMA_SIZES(TILE_OF_SIZE) /**/
};

struct shape {
	uint64_t m, n, k;
};

/* Half of a unit of the last of 11 bits is rounded away from zero. */
static double tf32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	bits = (bits + 0x1000) & 0xffffe000u;
	memcpy(&x, &bits, sizeof(bits));
	return (double)x;
}

static void compare(const struct shape *s, enum form form, const float *a, const float *b, const float *c,
		    const char *kernel)
{
	for (uint64_t i = 0; i < s->m; i++)
		for (uint64_t j = 0; j < s->n; j++) {
			const double found = (double)c[i * s->n + j];
			double wanted = 0, magnitude = 0;

			for (uint64_t k = 0; k < s->k; k++) {
				const double term = tf32(a[form == TN ? k * s->m + i : i * s->k + k]) *
						    tf32(b[form == NT ? j * s->k + k : k * s->n + j]);

				wanted += term;
				magnitude += fabs(term);
			}
			if (!(fabs(found - wanted) <= (double)(s->k + 8) * 0x1p-22 * magnitude))
				fail_msg("%s, %lux%lux%lu: C[%lu][%lu] is %g, not %g", kernel, s->m, s->n,
					 s->k, i, j, found, wanted);
		}
}

/* Computes C [m, n] from A and B by the kernel that the plan chooses, or by a tile. The plan is made for
 * tensor cores; the program is that of the device. */
static void multiply(const struct shape *s, enum form form, const struct tile_size *tile, const float *a,
		     const float *b, float *c)
{
	const uint64_t rows = form == TN ? s->k : s->m;
	const struct plan_values values = { .rows = (int32_t)rows };
	struct gpu_program *used = NULL;
	const struct plan *plan;
	struct error err = { 0 };
	struct harness h;

	config = model_config(NULL, 0, 1, 1, rows);
	harness_open(&h, gpu, &config, false);
	plan = &h.plan;
	h.plan.tensor_cores = TENSOR_CORES_WARPS;
	const uint32_t tensor[] = { harness_tensor(&h, DTYPE_F32, s->m * s->k),
				    harness_tensor(&h, DTYPE_F32, s->k * s->n),
				    harness_tensor(&h, DTYPE_F32, s->m * s->n) };
	const struct gemm gemm = product_of(form, s->m, s->n, s->k, tensor);

	gemm_emit(&h.plan, &gemm);
	assert_memory_equal(h.plan.launch[0].kernel, "mma_", 4);
	if (tile)
		use_tile(&h.plan.launch[0], tile, form, s->k);
	harness_must(kernels_tensor_cores(gpu, DTYPE_F32, true, &h.plan.tensor_cores, &err), &err);
	harness_must(kernels_build(gpu, DTYPE_F32, &plan, 1, &used, &err), &err);
	harness_bind(&h, used);
	harness_put(&h, tensor[0], a);
	harness_put(&h, tensor[1], b);
	harness_run(&h, &values);
	harness_get(&h, tensor[2], c);
	harness_close(&h);
	gpu_program_free(used);
}

static void check(const struct shape *s, enum form form, const struct tile_size *tile)
{
	float *a = make_floats(s->m * s->k, 1), *b = make_floats(s->k * s->n, 2),
	      *c = make_floats(s->m * s->n, 3);

	multiply(s, form, tile, a, b, c);
	compare(s, form, a, b, c, tile ? tile->kernel[form] : "in chunks");
	free(a);
	free(b);
	free(c);
}

/* Some rows and columns are behind the edge of a tile, and so are some terms. */
static void test_forms_and_tiles(void **state)
{
	static const struct shape shapes[] = { { 72, 68, 44 }, { 132, 136, 104 } };

	(void)state;
	for (size_t t = 0; t < sizeof(tile_sizes) / sizeof(*tile_sizes); t++)
		for (enum form form = NN; form < FORMS; form++)
			for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
				check(&shapes[s], form, &tile_sizes[t]);
}

static void test_chunks(void **state)
{
	(void)state;
	check(&(struct shape){ 40, 72, 8004 }, NN, NULL);
}

/* What is not a number stays none, and nothing becomes infinite. */
static void test_special_numbers(void **state)
{
	static const struct shape one = { 4, 4, 4 };
	float a[16] = { NAN, 0, 0, 0, INFINITY, 0, 0, 0, 0x1.fffp0f, 0, 0, 0, -0x1.002p0f, 0, 0, 0 };
	float b[16] = { 1, 1, 1, 1 }, c[16];

	(void)state;
	multiply(&one, NN, NULL, a, b, c);
	assert_true(isnan(c[0]));
	assert_true(isinf(c[4]));
	assert_true(c[8] == 2);
	assert_true(c[12] == -0x1.004p0f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_and_tiles),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_special_numbers),
	};

	return cmocka_run_group_tests(tests, open_device_alone, close_kernels);
}
