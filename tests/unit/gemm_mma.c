/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the products by tensor cores (kernels/gemm_mma.cl) with float64; on devices without these cores
 * their instructions are computed by others. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/products.h"

/* Those of warp groups come last. */
static const struct tile_size tile_sizes[] = {
#define TILE_OF_SIZE(size, tile_rows, tile_columns, ...) TILE_SIZE("mma", size, tile_rows, tile_columns)
	MMA_SIZES(TILE_OF_SIZE) /**/
#define GROUP_TILE_OF_SIZE(size, tile_rows, tile_columns, ...) \
	TILE_SIZE("wgmma", size, tile_rows, tile_columns)
	WGMMA_SIZES(GROUP_TILE_OF_SIZE) /**/
};
#define ONE(...)          +1
#define GROUP_TILES_COUNT (WGMMA_SIZES(ONE))

/* How many of them the program has. */
static size_t tile_sizes_count = sizeof(tile_sizes) / sizeof(*tile_sizes);

/* Of a product in chunks `chunks` begins the name of the kernel that the plan must choose; others are
 * computed with each tile. */
struct shape {
	uint64_t m, n, k;
	const char *chunks;
};

/* The type of the numbers: BF16 or F16. */
static enum dtype storage = DTYPE_BF16;

static uint16_t *numbers(uint64_t count, uint64_t seed)
{
	uint16_t *out = malloc((count + 1) * sizeof(*out));

	assert_non_null(out);
	for (uint64_t i = 0; i < count; i++)
		out[i] = short_bits(storage, (float)noise(&seed));
	return out;
}

static double value(uint16_t stored)
{
	return (double)short_float(storage, stored);
}

static double exact(const struct shape *s, enum form form, const uint16_t *a, const uint16_t *b, uint64_t i,
		    uint64_t j, double *magnitude)
{
	double sum = 0;

	*magnitude = 0;
	for (uint64_t k = 0; k < s->k; k++) {
		const double term = value(a[form == TN ? k * s->m + i : i * s->k + k]) *
				    value(b[form == NT ? j * s->k + k : k * s->n + j]);

		sum += term;
		*magnitude += fabs(term);
	}
	return sum;
}

static struct launch *emit(struct harness *h, const struct shape *s, enum form form,
			   const uint32_t tensor[static 3], const struct tile_size *tile)
{
	const struct gemm gemm = product_of(form, s->m, s->n, s->k, tensor);
	struct launch *launch;

	gemm_emit(&h->plan, &gemm);
	launch = &h->plan.launch[h->plan.launches - 1];
	assert_true(gemm_is(launch));
	assert_int_equal(s->chunks != NULL, !strcmp(launch->kernel, "gemm_sum"));
	if (s->chunks) {
		assert_memory_equal(launch[-1].kernel, s->chunks, strlen(s->chunks));
	} else {
		assert_memory_equal(launch->kernel, "mma_", 4);
		use_tile(launch, tile, form, s->k);
	}
	return launch;
}

/* `c` holds the products with the bias, of `storage` if not `wide`. */
static void compare(const struct shape *s, enum form form, const uint16_t *a, const uint16_t *b,
		    const float *bias, const float *c, bool wide, const char *kernel)
{
	const double unit = storage == DTYPE_BF16 ? 0x1p-8 : 0x1p-11;

	for (uint64_t i = 0; i < s->m; i++)
		for (uint64_t j = 0; j < s->n; j++) {
			double magnitude;
			const double wanted = exact(s, form, a, b, i, j, &magnitude) + (double)bias[j];
			const double found = (double)c[i * s->n + j];
			const double tolerance =
				(double)(s->k + 8) * 0x1p-22 * (magnitude + (double)bias[j]) +
				(wide ? 0 : unit * fabs(wanted));

			if (!(fabs(found - wanted) <= tolerance))
				fail_msg("%s, %lux%lux%lu: C[%lu][%lu] is %g, not %g", kernel, s->m, s->n,
					 s->k, i, j, found, wanted);
		}
}

static void compare_sums(const struct shape *s, const uint16_t *b, const float *sums)
{
	for (uint64_t j = 0; j < s->n; j++) {
		double sum = 0;

		for (uint64_t k = 0; k < s->k; k++)
			sum += value(b[k * s->n + j]);
		assert_near(sums[j], sum, (double)s->k * 0x1p-20);
	}
}

/* One product with the bias added, in `storage` or, as a gradient of weights, in float32; and the sums of B's
 * columns. */
static void check(const struct shape *s, enum tensor_cores cores, enum form form,
		  const struct tile_size *tile, bool wide)
{
	const uint64_t rows = form == TN ? s->k : s->m;
	struct harness h;
	struct plan_values values = { .rows = (int32_t)rows, .step = 9 };
	uint16_t *a = numbers(s->m * s->k, 1), *b = numbers(s->k * s->n, 2);
	float *bias = calloc(s->n, sizeof(*bias)), *c = calloc(s->m * s->n, sizeof(*c)),
	      *sums = calloc(s->n, sizeof(*sums));

	harness_open(&h, gpu, &config, false);
	h.graph.batch_rows = rows;
	h.graph.storage = storage;
	h.plan.tensor_cores = cores;
	const uint32_t tensor[] = { harness_tensor(&h, storage, s->m * s->k),
				    harness_tensor(&h, storage, s->k * s->n),
				    harness_tensor(&h, wide ? DTYPE_F32 : storage, s->m * s->n) },
		       added = harness_tensor(&h, DTYPE_F32, s->n),
		       total = harness_tensor(&h, DTYPE_F32, s->n);
	struct launch *launch = emit(&h, s, form, tensor, tile);

	for (uint64_t j = 0; j < s->n; j++)
		bias[j] = (float)j;
	launch->argument[GEMM_EPILOGUE].u |= EPILOGUE_BIAS;
	launch->argument[GEMM_BIAS] = (struct argument)IN(added);
	if (form == TN) {
		launch->argument[GEMM_BIAS_GRADIENT] = (struct argument)OUT(total);
		launch->groups[0].extra = 1;
	}
	harness_bind(&h, program);
	harness_put(&h, tensor[0], a);
	harness_put(&h, tensor[1], b);
	harness_put(&h, added, bias);
	harness_run(&h, &values);
	harness_get_float(&h, tensor[2], c);
	harness_get(&h, total, sums);
	compare(s, form, a, b, bias, c, wide, launch->kernel);
	if (form == TN)
		compare_sums(s, b, sums);
	harness_close(&h);
	free(a);
	free(b);
	free(bias);
	free(c);
	free(sums);
}

static void test_shapes(void **state)
{
	static const struct shape shapes[] = {
		{ 8, 8, 8, NULL }, { 136, 72, 40, NULL }, { 64, 128, 96, NULL }, { 160, 200, 144, NULL }
	};

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
		for (enum form form = NN; form < FORMS; form++)
			for (size_t t = 0; t < tile_sizes_count; t++)
				check(&shapes[s], TENSOR_CORES_WARPS, form, &tile_sizes[t], (s + t) % 2);
}

/* The rows of the batch are any number: M, or with a transposed A the terms; and the columns of B's
 * transposed. */
static void test_any_number_of_rows(void **state)
{
	(void)state;
	for (size_t t = 0; t < tile_sizes_count; t++) {
		check(&(struct shape){ 77, 72, 40, NULL }, TENSOR_CORES_WARPS, NN, &tile_sizes[t], false);
		check(&(struct shape){ 72, 40, 77, NULL }, TENSOR_CORES_WARPS, TN, &tile_sizes[t], true);
		check(&(struct shape){ 77, 41, 40, NULL }, TENSOR_CORES_WARPS, NT, &tile_sizes[t], false);
	}
}

static void test_chunks(void **state)
{
	static const struct shape of_warps[] = { { 40, 72, 8008, "mma_" }, { 136, 136, 8008, "mma_" } };
	static const struct shape of_groups = { 136, 136, 8008, "wgmma_" };

	(void)state;
	for (enum form form = NN; form < FORMS; form++) {
		for (size_t s = 0; s < sizeof(of_warps) / sizeof(*of_warps); s++)
			check(&of_warps[s], TENSOR_CORES_WARPS, form, NULL, form == TN);
		if (tile_sizes_count == sizeof(tile_sizes) / sizeof(*tile_sizes))
			check(&of_groups, TENSOR_CORES_WARP_GROUPS, form, NULL, form == TN);
	}
}

/* The kernels are those of bfloat16 but for the type of the numbers, so a product of each form is enough, by
 * the smallest tile of warps or of warp groups. */
static void test_float16(void **state)
{
	static const struct shape shape = { 136, 72, 88, NULL };
	const size_t warps = sizeof(tile_sizes) / sizeof(*tile_sizes) - GROUP_TILES_COUNT - 1;
	struct error err = { 0 };

	(void)state;
	gpu_program_free(program);
	storage = DTYPE_F16;
	harness_must(kernels_build(gpu, storage, NULL, 0, &program, &err), &err);
	check(&shape, TENSOR_CORES_WARPS, NN, &tile_sizes[warps], false);
	check(&shape, TENSOR_CORES_WARPS, TN, &tile_sizes[tile_sizes_count - 1], true);
	check(&shape, TENSOR_CORES_WARPS, NT, &tile_sizes[warps], false);
}

static int open_all(void **state)
{
	(void)state;
	(void)open_products(storage);
	if (!has_warp_groups(storage))
		tile_sizes_count -= GROUP_TILES_COUNT;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_any_number_of_rows),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_float16),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
