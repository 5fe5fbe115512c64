/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares matrix products with OpenBLAS, or with CLBlast if the device is no CPU. Each product is timed with
 * all its launches. Some numbers of each result are compared with float64 first; then rounds of Kiln and of
 * the other library alternate. Prints a JSON line for each, with the median in gigaflops.
 * With bfloat16 or float16 the products have the type of a network in mixed_bfloat16 or mixed_float16,
 * without another library; large ones are added where the device has tensor cores. Usage: gemm [ROUNDS]
 * [bfloat16|float16]     KILN_BENCH_CLBLAST=1: CLBlast on a CPU device, too
 */
#include "tests/bench/clblast.h"
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include "model/plan/gemm.h"

#include <inttypes.h>

#define SAMPLES    200u
#define ROUNDS_MAX 101u
/* Floating-point operations of a round, so many that the start of threads takes little time beside them. */
#define ROUND_FLOPS 4e9

static const struct product {
	uint64_t m, n, k;
	bool a_transposed, b_transposed;
	const char *form;
} products[] = {
	{ 128, 256, 512, false, false, "NN" },    { 512, 256, 128, true, false, "TN" },
	{ 1024, 1024, 1024, false, false, "NN" }, { 512, 4096, 4096, false, false, "NN" },
	{ 512, 4096, 4096, false, true, "NT" },   { 512, 4096, 4096, true, false, "TN" },
	{ 4096, 4096, 512, true, false, "TN" },   { 4096, 4096, 4096, false, false, "NN" },
	{ 8192, 8192, 8192, false, false, "NN" },
};

static enum dtype storage = DTYPE_F32;
static enum tensor_cores cores; /* what the products use */

static bool is_for_tensor_cores(const struct product *p)
{
	return p->m >= 4096 && p->k >= 4096;
}

enum { A, B, C, TENSORS };

struct bench {
	const struct product *product;
	struct harness harness;
	uint32_t tensor[TENSORS];
	float *numbers[TENSORS];
};

static uint64_t operand_numbers(const struct product *p, int tensor)
{
	return tensor == A ? p->m * p->k : tensor == B ? p->k * p->n : p->m * p->n;
}

static float of_storage(float x)
{
	return storage == DTYPE_F32 ? x : short_float(storage, short_bits(storage, x));
}

static void put(struct bench *bench, int tensor)
{
	const uint64_t count = operand_numbers(bench->product, tensor);
	const float *numbers = bench->numbers[tensor];
	uint16_t *halves;

	if (storage == DTYPE_F32) {
		harness_put(&bench->harness, bench->tensor[tensor], numbers);
		return;
	}
	halves = calloc(count, sizeof(*halves));
	if (!halves)
		abort();
	for (uint64_t i = 0; i < count; i++)
		halves[i] = short_bits(storage, numbers[i]);
	harness_put(&bench->harness, bench->tensor[tensor], halves);
	free(halves);
}

static void open_bench(struct bench *bench, struct gpu *gpu, const struct config *config,
		       struct gpu_program *program, const struct product *p)
{
	static const struct node node = { .name = "product" };
	struct gemm gemm = { .m = p->m,
			     .n = p->n,
			     .k = p->k,
			     .a_transposed = p->a_transposed,
			     .b_transposed = p->b_transposed,
			     .node = &node };
	struct harness *h = &bench->harness;
	uint64_t seed = 44;

	bench->product = p;
	harness_open(h, gpu, config, gpu_is_cpu(gpu));
	h->graph.storage = storage;
	h->plan.tensor_cores = cores;
	for (int t = A; t < TENSORS; t++) {
		bench->tensor[t] = harness_tensor(h, storage, operand_numbers(p, t));
		bench->numbers[t] = calloc(operand_numbers(p, t), sizeof(float));
		if (!bench->numbers[t])
			abort();
		for (uint64_t i = 0; t < C && i < operand_numbers(p, t); i++)
			bench->numbers[t][i] = of_storage((float)noise(&seed));
	}
	gemm.a = bench->tensor[A];
	gemm.b = bench->tensor[B];
	gemm.c = bench->tensor[C];
	gemm_emit(&h->plan, &gemm);
	harness_bind(h, program);
	put(bench, A);
	put(bench, B);
}

static void close_bench(struct bench *bench)
{
	harness_close(&bench->harness);
	for (int t = A; t < TENSORS; t++)
		free(bench->numbers[t]);
}

/* The library to compare with: one of the two, or none. */
struct peer {
	sgemm_function *openblas;
	struct clblast clblast;
};

static void open_peer(struct peer *peer, const struct gpu *gpu)
{
	*peer = (struct peer){ 0 };
	if (storage != DTYPE_F32)
		return;
	if (!gpu_is_cpu(gpu) || getenv("KILN_BENCH_CLBLAST"))
		clblast_open(&peer->clblast);
	else
		peer->openblas = find_sgemm();
}

/* Microseconds of one product. */
static double ours_us(struct bench *bench, uint64_t times)
{
	const struct plan_values values = { .rows = 1, .update = 1 };
	struct harness *h = &bench->harness;
	struct error err = { 0 };
	const double start = now_us();

	for (uint64_t i = 0; i < times; i++)
		harness_must(plan_run(&h->plan, h->gpu, &values, &err), &err);
	harness_must(gpu_finish(h->gpu, &err), &err);
	return (now_us() - start) / (double)times;
}

static double clblast_us(const struct bench *bench, struct clblast *clblast, uint64_t times)
{
	const struct product *p = bench->product;
	const double start = now_us();

	for (uint64_t i = 0; i < times; i++)
		clblast_must(clblast->sgemm(ROW_MAJOR, p->a_transposed ? TRANSPOSED : PLAIN,
					    p->b_transposed ? TRANSPOSED : PLAIN, p->m, p->n, p->k, 1,
					    clblast->memory[A], 0, p->a_transposed ? p->m : p->k,
					    clblast->memory[B], 0, p->b_transposed ? p->k : p->n, 0,
					    clblast->memory[C], 0, p->n, &clblast->queue, NULL),
			     "a product");
	clblast_must(clFinish(clblast->queue), "finish");
	return (now_us() - start) / (double)times;
}

static double openblas_us(const struct bench *bench, sgemm_function *sgemm, uint64_t times)
{
	const struct product *p = bench->product;
	const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
	/* Wait until OpenBLAS's threads, which spin for a while after their work, do not use the cores. */
	const struct timespec rest = { .tv_nsec = 150000000 };
	const double start = now_us();
	double spent;

	for (uint64_t i = 0; i < times; i++)
		sgemm(ROW_MAJOR, p->a_transposed ? TRANSPOSED : PLAIN, p->b_transposed ? TRANSPOSED : PLAIN,
		      m, n, k, 1, bench->numbers[A], p->a_transposed ? m : k, bench->numbers[B],
		      p->b_transposed ? k : n, 0, bench->numbers[C], n);
	spent = (now_us() - start) / (double)times;
	(void)nanosleep(&rest, NULL);
	return spent;
}

static double exact(const struct bench *bench, uint64_t i, uint64_t j, double *magnitude)
{
	const struct product *p = bench->product;
	double sum = 0;

	*magnitude = 0;
	for (uint64_t k = 0; k < p->k; k++) {
		const double term = (double)bench->numbers[A][p->a_transposed ? k * p->m + i : i * p->k + k] *
				    (double)bench->numbers[B][p->b_transposed ? j * p->k + k : k * p->n + j];

		sum += term;
		*magnitude += fabs(term);
	}
	return sum;
}

/* Tensor cores cut off bits of a sum; what is stored in 16 bits is rounded to 8 bits (float16: 11). */
static double tolerance(uint64_t k, double magnitude, double wanted)
{
	const double unit = storage == DTYPE_F16 ? 0x1p-11 : 0x1p-8;

	return storage == DTYPE_F32 ? (double)k * 0x1p-24 * magnitude
				    : (double)(k + 8) * 0x1p-22 * magnitude + unit * fabs(wanted);
}

/* Check before timing: a product must not be fast and wrong. */
static void verify(struct bench *bench)
{
	const struct product *p = bench->product;
	const uint64_t numbers = operand_numbers(p, C);
	float *found = calloc(numbers, sizeof(*found));
	uint64_t seed = 7;

	if (!found)
		abort();
	(void)ours_us(bench, 1);
	harness_get_float(&bench->harness, bench->tensor[C], found);
	for (uint32_t s = 0; s < SAMPLES; s++) {
		const uint64_t at =
			s ? (uint64_t)((noise(&seed) + 1) / 2 * (double)numbers) % numbers : numbers - 1;
		double magnitude;
		const double wanted = exact(bench, at / p->n, at % p->n, &magnitude);

		if (!(fabs((double)found[at] - wanted) <= tolerance(p->k, magnitude, wanted))) {
			(void)fprintf(stderr, "gemm: %s C[%" PRIu64 "][%" PRIu64 "] is %g, not %g\n", p->form,
				      at / p->n, at % p->n, (double)found[at], wanted);
			exit(1);
		}
	}
	free(found);
}

/* CLBlast compiles and tunes at its first call. */
static void begin_clblast(const struct bench *bench, struct clblast *clblast)
{
	for (int t = A; t < TENSORS; t++)
		clblast_put(clblast, t, t < C ? bench->numbers[t] : NULL, operand_numbers(bench->product, t));
	(void)clblast_us(bench, clblast, 1);
}

static double peer_us(const struct bench *bench, struct peer *peer, uint64_t times)
{
	return peer->openblas        ? openblas_us(bench, peer->openblas, times)
	       : peer->clblast.sgemm ? clblast_us(bench, &peer->clblast, times)
				     : 0;
}

static void measure(struct bench *bench, struct peer *peer, uint32_t rounds)
{
	const struct product *p = bench->product;
	const double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
	const uint64_t times = (uint64_t)(ROUND_FLOPS / flops) + 1;
	double ours[ROUNDS_MAX], theirs[ROUNDS_MAX];

	if (peer->clblast.sgemm)
		begin_clblast(bench, &peer->clblast);
	for (uint32_t r = 0; r < rounds; r++) {
		ours[r] = ours_us(bench, times);
		theirs[r] = peer_us(bench, peer, times);
	}
	if (peer->clblast.sgemm)
		clblast_drop(&peer->clblast);
	static const char *const case_end[] = {
		[DTYPE_F32] = "", [DTYPE_F16] = ", float16", [DTYPE_BF16] = ", bfloat16"
	};
	const double value = flops / median(ours, rounds) / 1e3;

	printf("{\"name\":\"gemm-cpu\",\"case\":\"%s %" PRIu64 "x%" PRIu64 "x%" PRIu64
	       "%s\",\"value\":%.1f,\"unit\":\"Gflop/s\"",
	       p->form, p->m, p->n, p->k, case_end[storage], value);
	if (peer->openblas || peer->clblast.sgemm) {
		const double of_peer = flops / median(theirs, rounds) / 1e3;

		printf(",\"peer\":\"%s\",\"peer_value\":%.1f,\"ratio\":%.3f",
		       peer->openblas ? "openblas" : "clblast", of_peer, value / of_peer);
	}
	printf("}\n");
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;
	const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS_MAX ? ROUNDS_MAX : asked;
	const struct config config = model_config(NULL, 0, 1, 1, 1);
	struct gpu *gpu = open_device();
	struct peer peer;
	struct gpu_program *program = NULL;
	struct error err = { 0 };

	if (argc > 2 && !strcmp(argv[2], "bfloat16"))
		storage = DTYPE_BF16;
	if (argc > 2 && !strcmp(argv[2], "float16"))
		storage = DTYPE_F16;
	if (storage != DTYPE_F32)
		harness_must(kernels_tensor_cores(gpu, storage, false, &cores, &err), &err);
	harness_must(kernels_build(gpu, storage, NULL, 0, &program, &err), &err);
	(void)fprintf(stderr, "%s\n", gpu_description(gpu));
	open_peer(&peer, gpu);
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++) {
		struct bench bench = { 0 };

		if (is_for_tensor_cores(&products[i]) && cores == TENSOR_CORES_NONE)
			continue;
		open_bench(&bench, gpu, &config, program, &products[i]);
		verify(&bench);
		measure(&bench, &peer, rounds);
		close_bench(&bench);
	}
	clblast_close(&peer.clblast);
	gpu_program_free(program);
	close_device(gpu);
	return 0;
}
