/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a matrix product with each size of tile of GPUs, from which the plan chooses (model/plan/tiles.h).
 * Some numbers of each result are compared with float64 first. Prints a JSON line for each size, and which
 * kernel the plan chooses; where it cuts the sums into chunks, only that. Only on a GPU. Part of
 * tools/gpu-kit. Usage: tiles [ROUNDS]
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include "model/plan/gemm.h"
#include "model/plan/tiles.h"

#include <inttypes.h>

#define ROUNDS_MAX 101u
#define SAMPLES    50u

enum { A, B, C, TENSORS };

static const struct shape {
	uint64_t m, n, k;
} shapes[] = { { 128, 256, 512 }, { 2048, 2048, 512 }, { 512, 4096, 4096 } };

static const struct tile_size {
	const char *kernel;
	uint64_t rows, columns;
} tiles[] = {
#define TILE(size, tile_rows, tile_columns, ...) { "gemm_nn_" #size, tile_rows, tile_columns },
	TILE_SIZES(TILE)
};

struct bench {
	const struct shape *shape;
	struct harness harness;
	float *numbers[TENSORS];
	uint32_t tensor[TENSORS];
};

static uint64_t count_of(const struct shape *s, int tensor)
{
	return tensor == A ? s->m * s->k : tensor == B ? s->k * s->n : s->m * s->n;
}

/* Returns the kernel that computes the product: the plan's, or that of the tile; NULL: the plan cuts the sums
 * into chunks, so that its launch does not write C. */
static const char *emit(struct bench *bench, const struct tile_size *tile)
{
	static const struct node node = { .name = "product" };
	const struct shape *s = bench->shape;
	const struct gemm gemm = { .m = s->m,
				   .n = s->n,
				   .k = s->k,
				   .a = bench->tensor[A],
				   .b = bench->tensor[B],
				   .c = bench->tensor[C],
				   .node = &node };
	struct plan *plan = &bench->harness.plan;
	struct launch *launch;

	gemm_emit(plan, &gemm);
	launch = &plan->launch[0];
	if (tile && plan->launches > 1)
		return NULL;
	if (tile) {
		launch->kernel = tile->kernel;
		launch->groups[0].tile = tile->rows;
		launch->groups[1].tile = tile->columns;
		launch->argument[GEMM_GROUP_ROWS] = (struct argument)INT(s->k);
	}
	return launch->kernel;
}

static const char *open_bench(struct bench *bench, const struct shape *shape, struct gpu *gpu,
			      const struct config *config, struct gpu_program *program,
			      const struct tile_size *tile)
{
	const char *kernel;
	uint64_t seed = 44;

	*bench = (struct bench){ .shape = shape };
	harness_open(&bench->harness, gpu, config, false);
	for (int t = A; t < TENSORS; t++) {
		bench->tensor[t] = harness_tensor(&bench->harness, DTYPE_F32, count_of(shape, t));
		bench->numbers[t] = calloc(count_of(shape, t), sizeof(float));
		if (!bench->numbers[t])
			abort();
		for (uint64_t i = 0; t < C && i < count_of(shape, t); i++)
			bench->numbers[t][i] = (float)noise(&seed);
	}
	kernel = emit(bench, tile);
	if (!kernel)
		return NULL;
	harness_bind(&bench->harness, program);
	harness_put(&bench->harness, bench->tensor[A], bench->numbers[A]);
	harness_put(&bench->harness, bench->tensor[B], bench->numbers[B]);
	return kernel;
}

static void close_bench(struct bench *bench)
{
	harness_close(&bench->harness);
	for (int t = A; t < TENSORS; t++)
		free(bench->numbers[t]);
}

static double product_us(struct bench *bench)
{
	const struct plan_values values = { .rows = 1, .valid_rows = 1 };
	const double start = now_us();

	harness_run(&bench->harness, &values);
	return now_us() - start;
}

static void verify(struct bench *bench, const char *kernel)
{
	const struct shape *s = bench->shape;
	const float *a = bench->numbers[A], *b = bench->numbers[B];
	uint64_t seed = 7;

	(void)product_us(bench);
	harness_get(&bench->harness, bench->tensor[C], bench->numbers[C]);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		const uint64_t at = (uint64_t)((noise(&seed) + 1) / 2 * (double)(s->m * s->n - 1));
		double sum = 0, magnitude = 0;

		for (uint64_t k = 0; k < s->k; k++) {
			const double term = (double)a[at / s->n * s->k + k] * (double)b[k * s->n + at % s->n];

			sum += term;
			magnitude += fabs(term);
		}
		if (fabs((double)bench->numbers[C][at] - sum) <= (double)s->k * 0x1p-24 * magnitude)
			continue;
		(void)fprintf(stderr, "tiles: %s: number %" PRIu64 " is %g, not %g\n", kernel, at,
			      (double)bench->numbers[C][at], sum);
		exit(1);
	}
}

static void measure(const struct shape *shape, struct gpu *gpu, const struct config *config,
		    struct gpu_program *program, const struct tile_size *tile, uint32_t rounds)
{
	struct bench bench;
	const char *kernel = open_bench(&bench, shape, gpu, config, program, tile);
	double us[ROUNDS_MAX];

	if (!kernel) {
		close_bench(&bench);
		return;
	}
	verify(&bench, kernel);
	for (uint32_t r = 0; r < rounds; r++)
		us[r] = product_us(&bench);
	printf("{\"name\":\"tiles\",\"case\":\"%" PRIu64 "x%" PRIu64 "x%" PRIu64
	       ", %s%s\",\"value\":%.1f,\"unit\":\"us\"}\n",
	       shape->m, shape->n, shape->k, tile ? "" : "the plan's choice: ", kernel, median(us, rounds));
	(void)fflush(stdout);
	close_bench(&bench);
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;
	const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS_MAX ? ROUNDS_MAX : asked;
	const struct config config = model_config(NULL, 0, 1, 1, 1);
	struct gpu *gpu = open_device();
	struct gpu_program *program = NULL;
	struct error err = { 0 };

	harness_must(kernels_build(gpu, DTYPE_F32, NULL, 0, &program, &err), &err);
	for (size_t s = 0; !gpu_is_cpu(gpu) && s < sizeof(shapes) / sizeof(*shapes); s++) {
		measure(&shapes[s], gpu, &config, program, NULL, rounds);
		for (size_t t = 0; t < sizeof(tiles) / sizeof(*tiles); t++)
			measure(&shapes[s], gpu, &config, program, &tiles[t], rounds);
	}
	gpu_program_free(program);
	close_device(gpu);
	return 0;
}
