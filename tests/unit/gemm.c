/* SPDX-License-Identifier: Apache-2.0 */
/* Compares every GEMM kernel, those for CPU devices and those for other devices, with float64: shapes around
 * the size of a tile, with every epilogue. */
#include "tests/reference.h"

#include "model/graph/random.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/products.h"

static const char *const form_names[] = { "NN", "TN", "NT" };

/* Every size of tile without tensor cores. */
static const struct tile_size tile_sizes[] = {
#define TILE_OF_SIZE(size, tile_rows, tile_columns, ...) TILE_SIZE("gemm", size, tile_rows, tile_columns)
	TILE_SIZES(TILE_OF_SIZE) /**/
	{ { "gemm_16x16", "gemm_16x16", "gemm_16x16" }, 16, 16 },
};
#define TILE_SIZES_COUNT (sizeof(tile_sizes) / sizeof(*tile_sizes))

struct operands {
	uint64_t m, n, k;
	enum form form;
	float *a, *b, *c, *bias, *mask;
	const struct tile_size *tile; /* used in place of the tile that the plan chooses; NULL: that one */
	bool in_chunks;               /* whether the sums are expected to have chunks */
};

static void operands_open(struct operands *o, uint64_t m, uint64_t n, uint64_t k, enum form form)
{
	*o = (struct operands){ m,
				n,
				k,
				form,
				make_floats(m * k, 1),
				make_floats(k * n, 2),
				make_floats(m * n, 3),
				make_floats(n, 4),
				make_floats(m * n, 5),
				NULL,
				false };
}

static void operands_close(struct operands *o)
{
	free(o->a);
	free(o->b);
	free(o->c);
	free(o->bias);
	free(o->mask);
}

static double exact(const struct operands *o, uint64_t i, uint64_t j, double *magnitude)
{
	double sum = 0;

	*magnitude = 0;
	for (uint64_t k = 0; k < o->k; k++) {
		const double term = (double)o->a[o->form == TN ? k * o->m + i : i * o->k + k] *
				    (double)o->b[o->form == NT ? j * o->k + k : k * o->n + j];

		sum += term;
		*magnitude += fabs(term);
	}
	return sum;
}

static double epilogue(const struct operands *o, uint64_t i, uint64_t j, double x, uint32_t flags)
{
	const uint32_t counter[4] = { (uint32_t)(j / 64 * 16 + j % 16), (uint32_t)(1000 + i), 9, 77 };

	if (flags & EPILOGUE_BIAS)
		x += (double)o->bias[j];
	if (flags & EPILOGUE_RELU)
		x = x < 0 ? 0 : x;
	if (flags & EPILOGUE_DROPOUT)
		x = philox(counter, 44).word[j / 16 % 4] >= dropout_threshold(0.3) ? x * 1.25 : 0;
	if (flags & EPILOGUE_MASK)
		x = o->mask[i * o->n + j] > 0 ? x * 1.25 : 0;
	if (flags & EPILOGUE_ADD)
		x += (double)o->c[i * o->n + j];
	return x;
}

/* Runs one product on `rows` rows of M. Returns C, and the column sums of B if `sums` is not NULL. */
static float *product(const struct operands *o, bool cpu, uint32_t flags, uint64_t rows, float *sums)
{
	struct harness h;
	struct plan_values values = { .rows = (int32_t)rows, .first_row = 1000, .step = 9 };
	float *out = malloc(o->m * o->n * sizeof(*out));

	harness_open(&h, gpu, &config, cpu);
	h.graph.batch_rows = o->form == TN ? o->k : o->m;
	const uint32_t a = harness_tensor(&h, DTYPE_F32, o->m * o->k),
		       b = harness_tensor(&h, DTYPE_F32, o->k * o->n),
		       c = harness_tensor(&h, DTYPE_F32, o->m * o->n),
		       bias = harness_tensor(&h, DTYPE_F32, o->n),
		       mask = harness_tensor(&h, DTYPE_F32, o->m * o->n),
		       total = harness_tensor(&h, DTYPE_F32, o->n);
	const struct gemm gemm = product_of(o->form, o->m, o->n, o->k, (const uint32_t[]){ a, b, c });

	if (o->form == TN)
		values.rows = (int32_t)o->k;
	gemm_emit(&h.plan, &gemm);
	struct launch *launch = &h.plan.launch[h.plan.launches - 1];

	assert_true(gemm_is(launch));
	assert_true(!o->in_chunks || !strcmp(launch->kernel, "gemm_sum"));
	if (o->tile)
		use_tile(launch, o->tile, o->form, o->k);
	launch->argument[GEMM_EPILOGUE].u = flags;
	launch->argument[GEMM_BIAS] = (struct argument)IN(bias);
	launch->argument[GEMM_MASK] = (struct argument)IN(mask);
	launch->argument[GEMM_SCALE] = (struct argument)FLOAT(1.25);
	launch->argument[GEMM_THRESHOLD] = (struct argument)UINT(dropout_threshold(0.3));
	launch->argument[GEMM_LAYER] = (struct argument)UINT(77u);
	if (sums) {
		launch->argument[GEMM_BIAS_GRADIENT] = (struct argument)OUT(total);
		launch->groups[0].extra = 1;
	}
	harness_bind(&h, program);
	harness_put(&h, a, o->a);
	harness_put(&h, b, o->b);
	harness_put(&h, c, o->c);
	harness_put(&h, bias, o->bias);
	harness_put(&h, mask, o->mask);
	harness_run(&h, &values);
	harness_get(&h, c, out);
	if (sums)
		harness_get(&h, total, sums);
	harness_close(&h);
	return out;
}

static void check(const struct operands *o, bool cpu, uint32_t flags)
{
	float *c = product(o, cpu, flags, o->m, NULL);

	for (uint64_t i = 0; i < o->m; i++)
		for (uint64_t j = 0; j < o->n; j++) {
			double magnitude, x = exact(o, i, j, &magnitude);
			const double found = (double)c[i * o->n + j], wanted = epilogue(o, i, j, x, flags);
			/* One rounding per term, and a few for the epilogue. */
			const double tolerance = ((double)o->k + 8) * 0x1p-24 * 1.25 * (magnitude + 4);

			if (fabs(found - wanted) > tolerance)
				fail_msg("%s %s %lux%lux%lu flags %u: C[%lu][%lu] is %g, not %g",
					 cpu ? "cpu" : "gpu", form_names[o->form], o->m, o->n, o->k, flags, i,
					 j, found, wanted);
		}
	free(c);
}

/* Sizes around the tiles; the last ones are for the packed family: several blocks of k, of rows, of
 * columns. */
static const struct {
	uint64_t m, n, k;
} shapes[] = {
	{ 1, 1, 1 },      { 1, 16, 3 },    { 5, 2, 16 },     { 8, 16, 9 },     { 9, 17, 5 },
	{ 7, 32, 33 },    { 23, 33, 8 },   { 6, 64, 64 },    { 13, 65, 20 },   { 12, 127, 7 },
	{ 128, 256, 40 }, { 31, 10, 512 }, { 70, 100, 1 },   { 3, 15, 1025 },  { 2, 81, 513 },
	{ 53, 67, 5003 }, { 541, 9, 517 }, { 48, 21, 5600 }, { 49, 530, 512 }, { 1100, 70, 257 },
};

static void test_shapes(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++)
		for (enum form form = NN; form < FORMS; form++) {
			struct operands o;

			operands_open(&o, shapes[s].m, shapes[s].n, shapes[s].k, form);
			check(&o, true, 0);
			check(&o, false, 0);
			operands_close(&o);
		}
}

static const uint32_t epilogues[] = {
	EPILOGUE_BIAS,
	EPILOGUE_BIAS | EPILOGUE_RELU,
	EPILOGUE_BIAS | EPILOGUE_RELU | EPILOGUE_DROPOUT,
	EPILOGUE_DROPOUT,
	EPILOGUE_MASK,
	EPILOGUE_ADD,
	EPILOGUE_MASK | EPILOGUE_ADD,
};
#define EPILOGUES (sizeof(epilogues) / sizeof(*epilogues))

static void test_epilogues(void **state)
{
	static const uint64_t columns[] = { 3, 16, 40, 64, 75, 150 };

	(void)state;
	for (size_t f = 0; f < EPILOGUES; f++)
		for (size_t n = 0; n < sizeof(columns) / sizeof(*columns); n++) {
			struct operands o;

			for (enum form form = NN; form < FORMS; form += NT) {
				operands_open(&o, 11, columns[n], 19, form);
				check(&o, true, epilogues[f]);
				check(&o, false, epilogues[f]);
				operands_close(&o);
			}
		}
}

/* With sizes that are multiples of 4, a piece of 4 neighbouring numbers is loaded at once. */
static const struct {
	uint64_t m, n, k;
} tiled[] = { { 271, 150, 35 }, { 268, 152, 52 } };

static void test_gpu_tiles(void **state)
{
	(void)state;
	for (size_t t = 0; t < 2 * TILE_SIZES_COUNT; t++)
		for (enum form form = NN; form < FORMS; form++) {
			struct operands o;

			operands_open(&o, tiled[t % 2].m, tiled[t % 2].n, tiled[t % 2].k, form);
			o.tile = &tile_sizes[t / 2];
			check(&o, false, 0);
			check(&o, false, epilogues[(3 * t + form) % EPILOGUES]);
			operands_close(&o);
		}
}

/* Each tile gives a sum the same bits, also beside other rows. */
static void test_gpu_tiles_have_the_same_bits(void **state)
{
	(void)state;
	for (size_t t = 0; t < 2 * TILE_SIZES_COUNT; t++) {
		const uint64_t n = tiled[t % 2].n;
		struct operands o;

		operands_open(&o, tiled[t % 2].m, n, tiled[t % 2].k, NN);
		o.tile = &tile_sizes[t / 2];
		float *all = product(&o, false, EPILOGUE_BIAS, o.m, NULL);

		o.m = 20;
		o.tile = &tile_sizes[TILE_SIZES_COUNT - 1];
		float *few = product(&o, false, EPILOGUE_BIAS, o.m, NULL);

		assert_memory_equal(all, few, o.m * n * sizeof(float));
		free(few);
		free(all);
		operands_close(&o);
	}
}

/* Products with few tiles and long sums. */
static const struct {
	uint64_t m, n, k;
} chunked[] = { { 32, 64, 12544 }, { 7, 33, 9001 }, { 130, 65, 6001 } };

static void test_chunks(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof(chunked) / sizeof(*chunked); s++)
		for (enum form form = NN; form < FORMS; form++) {
			struct operands o;

			operands_open(&o, chunked[s].m, chunked[s].n, chunked[s].k, form);
			o.in_chunks = true;
			check(&o, false, 0);
			check(&o, false, epilogues[(s + form) % EPILOGUES]);
			operands_close(&o);
		}
}

/* The bits of a row depend neither on the rows beside it, nor on the run, nor on the family of kernels. */
static void test_rows_stand_alone(void **state)
{
	static const struct {
		enum form form;
		uint64_t k;
	} cases[] = { { NN, 300 }, { NT, 300 }, { NN, 5600 } };
	struct operands o;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const bool cpu = i % 2;

		operands_open(&o, 49, 70, cases[i / 2].k, cases[i / 2].form);
		float *all = product(&o, cpu, 0, 49, NULL), *again = product(&o, cpu, 0, 49, NULL);

		assert_memory_equal(all, again, o.m * o.n * sizeof(float));
		for (uint64_t rows = 1; rows < 49; rows += 9) {
			float *some = product(&o, cpu, 0, rows, NULL);

			assert_memory_equal(all, some, rows * o.n * sizeof(float));
			/* memory after the result stays unchanged */
			assert_memory_equal(some + rows * o.n, o.c + rows * o.n,
					    (o.m - rows) * o.n * sizeof(float));
			free(some);
		}
		/* 40 rows are too few for packing. */
		o.m = 40;
		float *few = product(&o, cpu, 0, 40, NULL);

		assert_memory_equal(all, few, o.m * o.n * sizeof(float));
		free(few);
		free(all);
		free(again);
		operands_close(&o);
	}
}

/* A NaN or infinity in an operand makes each result not finite that uses it, and no other result. */
static void test_not_a_number(void **state)
{
	static const struct {
		enum form form;
		uint64_t k;
	} cases[] = { { NN, 40 }, { TN, 40 }, { NT, 40 }, { NN, 5600 }, { TN, 5600 } };
	struct operands o;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		operands_open(&o, 50, 70, cases[i / 2].k, cases[i / 2].form);
		/* NaN at A[11][7], infinity at B[9][66] */
		o.a[o.form == TN ? 7 * o.m + 11 : 11 * o.k + 7] = NAN;
		o.b[o.form == NT ? 66 * o.k + 9 : 9 * o.n + 66] = INFINITY;
		float *c = product(&o, i % 2, EPILOGUE_BIAS | EPILOGUE_RELU, o.m, NULL);

		for (uint64_t at = 0; at < o.m * o.n; at++) {
			const bool row = at / o.n == 11, column = at % o.n == 66;

			assert_int_equal(isnan(c[at]) != 0, row);
			assert_true(row || !column || isinf(c[at]) || c[at] == 0);
			assert_true(row || column || isfinite(c[at]));
		}
		free(c);
		operands_close(&o);
	}
}

/* Compares the sums of B's columns with float64, where their values are exact. */
static void check_sums(const struct operands *o, bool cpu)
{
	float *sums = calloc(o->n, sizeof(*sums)), *c = product(o, cpu, 0, o->m, sums);

	for (uint64_t j = 0; j < o->n; j++) {
		double sum = 0, magnitude = 0;

		for (uint64_t k = 0; k < o->k; k++) {
			sum += (double)o->b[k * o->n + j];
			magnitude += fabs((double)o->b[k * o->n + j]);
		}
		assert_near(sums[j], sum, ((double)o->k / 32 + 32) * 0x1p-24 * magnitude);
	}
	free(c);
	free(sums);
}

/* The extra row of tiles. */
static void test_column_sums(void **state)
{
	static const uint64_t columns[] = { 2, 16, 31, 64, 100 };
	static const uint64_t depths[] = { 77, 5600 };

	(void)state;
	for (size_t n = 0; n < 2 * sizeof(columns) / sizeof(*columns); n++) {
		struct operands o;

		operands_open(&o, 50, columns[n / 2], depths[n % 2], TN);
		check_sums(&o, true);
		check_sums(&o, false);
		operands_close(&o);
	}
}

static void test_column_sums_of_gpu_tiles(void **state)
{
	struct operands o;

	(void)state;
	for (size_t t = 0; t < 2 * TILE_SIZES_COUNT; t++) {
		operands_open(&o, tiled[t % 2].m, tiled[t % 2].n, 150, TN);
		o.tile = &tile_sizes[t / 2];
		check_sums(&o, false);
		operands_close(&o);
	}
	for (size_t s = 0; s < sizeof(chunked) / sizeof(*chunked); s++) {
		operands_open(&o, chunked[s].m, chunked[s].n, chunked[s].k, TN);
		o.in_chunks = true;
		check_sums(&o, false);
		operands_close(&o);
	}
}

/* Emits a product of a transposed A [k, m]; returns how many numbers its copy of A may have. */
static uint64_t room_of_transposed(struct harness *h, uint64_t m, uint64_t n, uint64_t k)
{
	const uint32_t first = h->plan.launches;
	const uint32_t tensor[] = { harness_tensor(h, DTYPE_F32, k * m), harness_tensor(h, DTYPE_F32, k * n),
				    harness_tensor(h, DTYPE_F32, m * n) };
	const struct gemm gemm = product_of(TN, m, n, k, tensor);
	const struct launch *copy;

	gemm_emit(&h->plan, &gemm);
	copy = &h->plan.launch[first];
	assert_string_equal(copy->kernel, "gemm_transpose");
	for (uint32_t a = 0; a < copy->arguments; a++)
		if (copy->argument[a].kind == ARGUMENT_OUT)
			return graph_at(&h->graph, copy->argument[a].tensor)->elements;
	fail();
	return 0;
}

/* A layer may have several products, each larger than the one before: they share the scratch of the node. */
static void test_scratch_is_that_of_the_largest_product(void **state)
{
	struct harness h;

	(void)state;
	harness_open(&h, gpu, &config, true);
	h.graph.batch_rows = 4096;
	assert_int_equal(room_of_transposed(&h, 64, 512, 4096), 64 * 4096);
	assert_int_equal(room_of_transposed(&h, 512, 512, 4096), 512 * 4096);
	assert_int_equal(room_of_transposed(&h, 64, 512, 4096), 512 * 4096);
	harness_close(&h);
}

static int open_all(void **state)
{
	(void)state;
	return open_products(DTYPE_F32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_epilogues),
		cmocka_unit_test(test_rows_stand_alone),
		cmocka_unit_test(test_not_a_number),
		cmocka_unit_test(test_column_sums),
		cmocka_unit_test(test_column_sums_of_gpu_tiles),
		cmocka_unit_test(test_gpu_tiles),
		cmocka_unit_test(test_gpu_tiles_have_the_same_bits),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_scratch_is_that_of_the_largest_product),
	};

	return cmocka_run_group_tests(tests, open_all, close_kernels);
}
