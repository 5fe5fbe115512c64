/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that launch every kernel, with small shapes. Other tests compare the numbers; this one is for
 * oclgrind, which interprets kernels, slowly, and reports races, accesses out of bounds, and reads of memory
 * that nobody wrote (tests/opencl/on). With KILN_TEST_PART, the name of one of the tests, this test alone
 * runs its plans on the device. Without it no plan runs: then the tests say that no kernel is missing, for
 * both kinds of devices.
 */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/passes.h"
#include "model/plan/parts.h"
#include "tests/unit/conv_shape.h"
#include "tests/unit/conv_tile.h"
#include "tests/unit/products.h"
#include "tests/unit/small_nets.h"

static bool runs; /* with KILN_TEST_PART */
static bool planned[512];

static void note(const struct plan *plan)
{
	assert_true(kernel_table_count <= sizeof(planned) / sizeof(*planned));
	for (uint32_t i = 0; i < plan->launches; i++)
		for (uint32_t k = 0; k < kernel_table_count; k++)
			planned[k] |= !strcmp(plan->launch[i].kernel, kernel_table[k].name);
}

/* ---- Networks: small_nets.h ---- */

/* Writes numbers of the type to `out` and returns how many bytes they have. */
static uint64_t fill(enum dtype dtype, uint64_t count, void *out)
{
	uint64_t seed = 9;

	assert_true(count <= (uint64_t)ROWS * NUMBERS);
	for (uint64_t i = 0; i < count; i++) {
		const double x = noise(&seed);

		if (dtype == DTYPE_I64)
			((int64_t *)out)[i] = (int64_t)(i % 2);
		else if (dtype == DTYPE_U8)
			((uint8_t *)out)[i] = (uint8_t)(128 + 127 * x);
		else
			((float *)out)[i] = (float)x;
	}
	return count * dtype_bytes(dtype);
}

static struct gpu_buffer *input(const struct graph *graph, uint32_t tensor)
{
	static const int64_t splits[ROWS + 1] = { 0, TOKENS, TOKENS, 2 * TOKENS };
	const struct tensor *what = graph_at(graph, tensor);
	static int64_t numbers[ROWS * NUMBERS];
	const void *data = numbers;
	struct gpu_buffer *buffer;
	struct error err = { 0 };
	uint64_t bytes;

	if (strstr(what->name, "/splits")) {
		data = splits;
		bytes = sizeof(splits);
	} else if (strstr(what->name, "/values")) {
		bytes = fill(what->dtype, ROWS * TOKENS, numbers);
	} else {
		bytes = fill(what->dtype, ROWS * what->elements, numbers);
	}
	harness_must(gpu_buffer_create(gpu, bytes, &buffer, &err), &err);
	harness_must(gpu_write(gpu, buffer, 0, data, bytes, true, &err), &err);
	return buffer;
}

/* The program has only the kernels of the plan. */
static void run_pass(struct harness *h)
{
	struct plan_values values = { .rows = ROWS,
				      .valid_rows = ROWS - 1,
				      .row_weight = 0.5f,
				      .step = 1,
				      .rate = 0.1f,
				      .update = 1,
				      .average_replaces = 1 };
	CLEANUP(gpu_program_freep) struct gpu_program *used = NULL;
	const struct plan *plan = &h->plan;
	struct error err = { 0 };

	harness_must(kernels_build(gpu, h->graph.storage, &plan, 1, &used, &err), &err);
	harness_bind(h, used);
	for (uint32_t i = 0; i < h->graph.inputs; i++)
		values.input[i] = input(&h->graph, h->graph.input[i]);
	values.label = input(&h->graph, h->graph.label);
	values.empty = input(&h->graph, h->graph.empty);
	harness_run(h, &values);
	for (uint32_t i = 0; i < h->graph.inputs; i++)
		gpu_buffer_free(values.input[i]);
	gpu_buffer_free(values.label);
	gpu_buffer_free(values.empty);
}

static void make_pass(const struct net *net, void (*emit)(struct plan *plan), bool cpu)
{
	const struct config of = config_of(net);
	struct harness h;

	harness_open(&h, gpu, &of, cpu);
	emit(&h.plan);
	note(&h.plan);
	if (runs)
		run_pass(&h);
	harness_close(&h);
}

static void emit_without_fusion(struct plan *plan)
{
	const uint32_t nodes = plan->graph->nodes;

	for (uint32_t i = 0; i + 1 < nodes; i++)
		op_emit_forward(plan, &plan->graph->node[i], true);
	loss_emit(plan, true);
	for (uint32_t i = nodes - 1; i-- > 0;)
		op_emit_backward(plan, &plan->graph->node[i]);
}

/* What follows the micro-batches of a step. */
static void emit_sum_and_apply(struct plan *plan)
{
	const uint32_t gradients = plan->graph->gradient_region, parameters = plan->graph->parameter_region;
	const uint64_t vectors = graph_at(plan->graph, gradients)->elements / 16;

	plan_emit(plan, &(struct launch){ .kernel = "add_part",
					  .groups = { { .fixed = vectors, .tile = PART_CHUNK } },
					  ARGUMENTS(INOUT(gradients), IN(parameters), UINT(0),
						    UINT((uint32_t)vectors)) });
	pass_emit_apply(plan);
}

static void make_networks(bool cpu)
{
	for (size_t n = 0; n < sizeof(nets) / sizeof(*nets); n++)
		make_pass(&nets[n], pass_emit_train, cpu);
	make_pass(&nets[0], pass_emit_evaluate, cpu);
	make_pass(&nets[1], pass_emit_predict, cpu);
	make_pass(&nets[3], emit_without_fusion, cpu);
	make_pass(&nets[LANES_NET], emit_sum_and_apply, cpu);
}

static void test_networks(void **state)
{
	(void)state;
	make_networks(true);
	if (!runs)
		make_networks(false);
}

/* ---- Tiles of GPUs: each size, in one plan ---- */

static void open_tiles(struct harness *h, enum dtype storage, enum tensor_cores cores, uint64_t rows)
{
	config = model_config(NULL, 0, 1, 1, rows);
	harness_open(h, gpu, &config, false);
	h->graph.storage = storage;
	h->plan.tensor_cores = cores;
}

/* `cores`: those of the device. */
static void run_tiles(struct harness *h, enum tensor_cores cores, uint64_t rows)
{
	const struct plan_values values = { .rows = (int32_t)rows, .valid_rows = (int32_t)rows, .update = 1 };
	CLEANUP(gpu_program_freep) struct gpu_program *used = NULL;
	const struct plan *plan = &h->plan;
	struct error err = { 0 };

	note(plan);
	h->plan.tensor_cores = cores;
	if (runs) {
		harness_must(kernels_build(gpu, h->graph.storage, &plan, 1, &used, &err), &err);
		harness_bind(h, used);
		harness_run(h, &values);
	}
	harness_close(h);
}

/* A product of each form by each tile, and the sum of two chunks. M, N and K are parts of a tile; `terms` are
 * so many that each stage of local memory is used twice. */
static void emit_products(struct harness *h, const struct tile_size *tile, uint64_t rows, uint64_t terms)
{
	for (enum form form = NN; form < FORMS; form++) {
		const uint64_t m = form == TN ? 16 : rows, k = form == TN ? rows : terms,
			       n = form == NT ? 9 : 24;
		const uint32_t tensor[] = { harness_tensor(h, h->graph.storage, m * k),
					    harness_tensor(h, h->graph.storage, k * n),
					    harness_tensor(h, form == TN ? DTYPE_F32 : h->graph.storage,
							   m * n) };
		const struct gemm gemm = product_of(form, m, n, k, tensor);
		struct launch *launch;

		gemm_emit(&h->plan, &gemm);
		launch = &h->plan.launch[h->plan.launches - 1];
		use_tile(launch, tile, form, k);
		if (form != TN)
			continue;
		launch->argument[GEMM_BIAS_GRADIENT] = (struct argument)OUT(harness_tensor(h, DTYPE_F32, n));
		launch->groups[0].extra = 1;
	}
}

/* A convolution with its gradients by each tile. */
static void emit_convolutions(struct harness *h, const struct conv_tile *tile, uint64_t channels,
			      uint64_t filters)
{
	static const int64_t two[] = { 2, 2 }, one[] = { 1, 1 };
	const struct window_keys keys = { two, one, one, "same", false };
	const struct conv conv = conv_of(3, 4, channels, filters, &keys);
	const uint64_t positions = ROWS * window_positions(&conv.window), taps = window_taps(&conv.window);
	const enum dtype stored = h->graph.storage;
	const uint32_t x = harness_tensor(h, stored, positions * channels),
		       y = harness_tensor(h, stored, positions * filters),
		       kernel = harness_tensor(h, DTYPE_F32, taps * channels * filters),
		       bias = harness_tensor(h, DTYPE_F32, filters),
		       dkernel = harness_tensor(h, DTYPE_F32, taps * channels * filters);

	conv_emit(&h->plan, &conv, x, kernel, y);
	use_conv(h, tile, filters);
	conv_emit_input_gradient(&h->plan, &conv, y, kernel, x, true);
	use_conv(h, tile, channels);
	conv_emit_kernel_gradient(&h->plan, &conv, x, y, dkernel, bias);
	use_kernel(h, tile, taps * channels + 1, positions);
}

static const struct tile_size product_tiles[] = {
#define PRODUCT_TILE(size, rows, columns, ...) TILE_SIZE("gemm", size, rows, columns)
	TILE_SIZES(PRODUCT_TILE) /**/
};
static const struct tile_size warp_tiles[] = {
#define WARP_TILE(size, rows, columns, ...) TILE_SIZE("mma", size, rows, columns)
	MMA_SIZES(WARP_TILE) /**/
};
static const struct tile_size group_tiles[] = {
#define GROUP_TILE(size, rows, columns, ...) TILE_SIZE("wgmma", size, rows, columns)
	WGMMA_SIZES(GROUP_TILE) /**/
};
static const struct conv_tile conv_tiles[] = {
#define CONV_TILE(size, rows, columns, ...) { "conv_" #size, "conv_kernel_" #size, rows, columns },
	TILE_SIZES(CONV_TILE) /**/
};
static const struct conv_tile group_conv_tiles[] = {
#define GROUP_CONV_TILE(size, rows, columns, ...) \
	{ "wgmma_conv_" #size, "wgmma_conv_kernel_" #size, rows, columns },
	WGMMA_SIZES(GROUP_CONV_TILE) /**/
};
#define COUNT_OF(tiles) (sizeof(tiles) / sizeof(*(tiles)))

/* The tensor cores of the device. Where it has none, their instructions are computed by others. */
static enum tensor_cores device_cores(void)
{
	enum tensor_cores cores;
	struct error err = { 0 };

	harness_must(kernels_tensor_cores(gpu, DTYPE_BF16, false, &cores, &err), &err);
	return cores;
}

static void run_products(const struct tile_size *tile, size_t count, enum dtype storage)
{
	const enum tensor_cores kind = storage == DTYPE_BF16 ? TENSOR_CORES_WARPS : TENSOR_CORES_NONE;
	struct harness h;

	for (size_t t = 0; t < count; t++) {
		open_tiles(&h, storage, kind, ROWS);
		emit_products(&h, &tile[t], ROWS, 40);
		run_tiles(&h, device_cores(), ROWS);
	}
}

static void run_convolutions(const struct conv_tile *tile, size_t count, enum dtype storage)
{
	const enum tensor_cores kind = storage == DTYPE_BF16 ? TENSOR_CORES_WARP_GROUPS : TENSOR_CORES_NONE;
	struct harness h;

	for (size_t t = 0; t < count; t++) {
		open_tiles(&h, storage, kind, ROWS);
		emit_convolutions(&h, &tile[t], 8, 16);
		run_tiles(&h, device_cores(), ROWS);
	}
}

static void test_tiles(void **state)
{
	(void)state;
	run_products(product_tiles, COUNT_OF(product_tiles), DTYPE_F32);
	run_convolutions(conv_tiles, COUNT_OF(conv_tiles), DTYPE_F32);
}

static void test_tiles_of_warps(void **state)
{
	(void)state;
	run_products(warp_tiles, COUNT_OF(warp_tiles), DTYPE_BF16);
	run_products(warp_tiles, COUNT_OF(warp_tiles), DTYPE_F32);
}

static void test_tiles_of_warp_groups(void **state)
{
	(void)state;
	if (device_cores() == TENSOR_CORES_WARPS)
		skip();
	run_products(group_tiles, COUNT_OF(group_tiles), DTYPE_BF16);
	run_convolutions(group_conv_tiles, COUNT_OF(group_conv_tiles), DTYPE_BF16);
}

/* A transposed copy pays only for matrices of 2^18 numbers and more, so its launch is made here. */
static void test_transpose(void **state)
{
	enum { TERMS = 18, COLUMNS = 21, TILE = 16 };
	struct harness h;

	(void)state;
	open_tiles(&h, DTYPE_F32, TENSOR_CORES_NONE, ROWS);
	plan_emit(&h.plan, &(struct launch){ .kernel = "gemm_transpose",
					     .groups = { { .fixed = TERMS, .tile = TILE },
							 { .fixed = COLUMNS, .tile = TILE } },
					     ARGUMENTS(IN(harness_tensor(&h, DTYPE_F32, TERMS * COLUMNS)),
						       OUT(harness_tensor(&h, DTYPE_F32, TERMS * COLUMNS)),
						       INT(TERMS), INT(COLUMNS)) });
	run_tiles(&h, TENSOR_CORES_NONE, ROWS);
}

/* ---- None is left out ---- */

/* oclgrind cannot compile the kernel `chain` (Makefile, test-opencl); its phases are launches here. */
static void test_no_kernel_is_missing(void **state)
{
	(void)state;
	if (runs || !gpu_is_cpu(gpu))
		skip(); /* no plan for CPU devices is made */
	for (uint32_t k = 0; k < kernel_table_count; k++)
		if (!planned[k] && strcmp(kernel_table[k].name, "chain") != 0)
			fail_msg("%s", kernel_table[k].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),       cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_tiles_of_warps), cmocka_unit_test(test_tiles_of_warp_groups),
		cmocka_unit_test(test_transpose),      cmocka_unit_test(test_no_kernel_is_missing),
	};

	runs = getenv("KILN_TEST_PART") != NULL;
	if (runs)
		cmocka_set_test_filter(getenv("KILN_TEST_PART"));
	return cmocka_run_group_tests(tests, open_device_alone, close_kernels);
}
