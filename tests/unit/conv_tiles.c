/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the convolutions of kernels/conv_tiled.cl and conv_mma.cl with float64, each with every size of
 * tile. ops_image.c compares those that a plan chooses, with the layers around them. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "model/plan/tiles.h"
#include "tests/unit/conv_shape.h"
#include "tests/unit/conv_tile.h"
#include "tests/unit/device.h"

#define ROWS 3u

struct shape {
	const char *label;
	uint64_t height, width, channels, filters;
	int64_t size[2], strides[2], dilation[2];
	const char *padding;
};

static const struct conv_tile tiles[] = {
#define TILE_OF_SIZE(size, tile_rows, tile_columns, ...) \
	{ "conv_" #size, "conv_kernel_" #size, tile_rows, tile_columns },
	TILE_SIZES(TILE_OF_SIZE) /**/
};

static const struct shape shapes[] = {
	{ "pieces of four", 9, 8, 12, 20, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "three channels", 11, 9, 3, 33, { 5, 4 }, { 2, 3 }, { 1, 1 }, "same" },
	{ "one channel, one filter", 8, 6, 1, 1, { 3, 2 }, { 1, 1 }, { 1, 1 }, "valid" },
	{ "several tiles", 7, 12, 36, 140, { 2, 2 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "strides", 13, 11, 20, 8, { 3, 3 }, { 2, 2 }, { 1, 1 }, "same" },
	{ "dilation", 10, 9, 6, 70, { 3, 3 }, { 1, 1 }, { 2, 3 }, "valid" },
	{ "one position", 5, 5, 4, 7, { 5, 5 }, { 1, 1 }, { 1, 1 }, "valid" },
	{ "points apart", 6, 7, 68, 12, { 1, 1 }, { 2, 1 }, { 1, 1 }, "valid" },
};

/* Those of kernels/conv_mma.cl. */
static const struct conv_tile group_tiles[] = {
#define GROUP_TILE_OF_SIZE(size, tile_rows, tile_columns, ...) \
	{ "wgmma_conv_" #size, "wgmma_conv_kernel_" #size, tile_rows, tile_columns },
	WGMMA_SIZES(GROUP_TILE_OF_SIZE) /**/
};

static const struct shape group_shapes[] = {
	{ "one chunk", 6, 7, 8, 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "several tiles", 7, 5, 40, 136, { 2, 2 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "strides", 9, 11, 24, 8, { 3, 2 }, { 2, 3 }, { 1, 1 }, "same" },
	{ "dilation", 8, 9, 16, 72, { 3, 3 }, { 1, 1 }, { 2, 3 }, "valid" },
	{ "points apart", 6, 7, 72, 24, { 1, 1 }, { 2, 1 }, { 1, 1 }, "valid" },
};

/* Convolutions that are products of matrices, except the gradient of their kernel beside one of a bias. */
static const struct shape points[] = {
	{ "small", 4, 3, 5, 3, { 1, 1 }, { 1, 1 }, { 1, 1 }, "valid" },
	{ "several chunks", 40, 31, 24, 40, { 1, 1 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "odd numbers, several tiles", 21, 23, 67, 131, { 1, 1 }, { 1, 1 }, { 1, 1 }, "valid" },
};

/* The type of activations and of their gradients: F32; or BF16 or F16, with tensor cores of warp groups. */
static enum dtype storage = DTYPE_F32;

static int open_gpu(void **state)
{
	(void)state;
	open_kernels();
	return 0;
}

static struct conv conv_of_shape(const struct shape *shape)
{
	const struct window_keys keys = { shape->size, shape->strides, shape->dilation, shape->padding,
					  false };

	return conv_of(shape->height, shape->width, shape->channels, shape->filters, &keys);
}

/* The first three are given; DBIAS may be left out. */
enum { X, DY, W, Y, DX, DW, DBIAS, TENSORS };

static uint64_t size_of(const struct conv *conv, uint32_t which)
{
	const uint64_t pixels = (uint64_t)conv->window.in[0] * (uint64_t)conv->window.in[1];

	if (which == DBIAS)
		return conv->filters;
	if (which == W || which == DW)
		return window_taps(&conv->window) * conv->channels * conv->filters;
	if (which == X || which == DX)
		return ROWS * pixels * conv->channels;
	return ROWS * window_positions(&conv->window) * conv->filters;
}

/* ---- On the device ---- */

static bool is_stored(uint32_t which)
{
	return storage != DTYPE_F32 && which != W && which != DW && which != DBIAS;
}

static void put(struct harness *h, uint32_t tensor, uint32_t which, const float *numbers, uint64_t count)
{
	uint16_t *stored;

	if (!is_stored(which)) {
		harness_put(h, tensor, numbers);
		return;
	}
	stored = calloc(count, sizeof(*stored));
	assert_non_null(stored);
	for (uint64_t i = 0; i < count; i++)
		stored[i] = short_bits(storage, numbers[i]);
	harness_put(h, tensor, stored);
	free(stored);
}

/* `tile`: NULL: the launches are those that a plan chooses. */
static void run(const struct conv *conv, const struct conv_tile *tile, bool bias,
		float *const numbers[static TENSORS])
{
	const struct plan_values values = { .rows = ROWS, .valid_rows = ROWS, .update = 1 };
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);
	uint32_t tensor[TENSORS];
	struct harness h;

	harness_open(&h, gpu, &config, false);
	h.graph.storage = storage;
	h.plan.tensor_cores = storage == DTYPE_F32 ? TENSOR_CORES_NONE : TENSOR_CORES_WARP_GROUPS;
	for (uint32_t i = 0; i < TENSORS; i++)
		tensor[i] = harness_tensor(&h, is_stored(i) ? storage : DTYPE_F32, size_of(conv, i));
	conv_emit(&h.plan, conv, tensor[X], tensor[W], tensor[Y]);
	if (tile)
		use_conv(&h, tile, conv->filters);
	conv_emit_input_gradient(&h.plan, conv, tensor[DY], tensor[W], tensor[DX], false);
	if (tile)
		use_conv(&h, tile, conv->channels);
	conv_emit_kernel_gradient(&h.plan, conv, tensor[X], tensor[DY], tensor[DW],
				  bias ? tensor[DBIAS] : GRAPH_NO_TENSOR);
	if (tile)
		use_kernel(&h, tile, window_taps(&conv->window) * conv->channels + bias,
			   ROWS * window_positions(&conv->window));
	harness_bind(&h, program);
	for (uint32_t i = X; i <= W; i++)
		put(&h, tensor[i], i, numbers[i], size_of(conv, i));
	harness_run(&h, &values);
	for (uint32_t i = Y; i < TENSORS; i++)
		if (i != DBIAS || bias)
			harness_get_float(&h, tensor[i], numbers[i]);
	harness_close(&h);
}

/* ---- The reference ---- */

/* What a number of an output is: the sum of its products, and that of their absolute values. */
struct exact {
	double *sum[TENSORS], *magnitude[TENSORS];
};

static void add(struct exact *exact, uint32_t which, uint64_t at, double term)
{
	exact->sum[which][at] += term;
	exact->magnitude[which][at] += fabs(term);
}

/* Adds all products of one position and one tap. */
static void add_tap(const struct conv *conv, struct exact *exact, float *const numbers[static TENSORS],
		    uint64_t position, uint64_t pixel, uint64_t tap)
{
	for (uint64_t c = 0; c < conv->channels; c++)
		for (uint64_t f = 0; f < conv->filters; f++) {
			const uint64_t x = pixel * conv->channels + c, y = position * conv->filters + f,
				       w = (tap * conv->channels + c) * conv->filters + f;

			add(exact, Y, y, (double)numbers[X][x] * (double)numbers[W][w]);
			add(exact, DX, x, (double)numbers[DY][y] * (double)numbers[W][w]);
			add(exact, DW, w, (double)numbers[X][x] * (double)numbers[DY][y]);
		}
}

static void compute(const struct conv *conv, struct exact *exact, float *const numbers[static TENSORS])
{
	const struct window *g = &conv->window;
	const uint64_t positions = window_positions(g);

	for (uint64_t p = 0; p < ROWS * positions; p++) {
		for (uint64_t f = 0; f < conv->filters; f++)
			add(exact, DBIAS, f, (double)numbers[DY][p * conv->filters + f]);
		for (int32_t t = 0; t < (int32_t)window_taps(g); t++) {
			const int32_t at = (int32_t)(p % positions);
			const int32_t y = window_source(g, 0, at / g->out[1], t / g->size[1]),
				      x = window_source(g, 1, at % g->out[1], t % g->size[1]);
			const uint64_t line = p / positions * (uint64_t)g->in[0] + (uint64_t)y;

			if (y >= 0 && x >= 0)
				add_tap(conv, exact, numbers, p, line * (uint64_t)g->in[1] + (uint64_t)x,
					(uint64_t)t);
		}
	}
}

static void compare(const struct conv *conv, const struct exact *exact, float *const numbers[static TENSORS],
		    bool bias, const char *label, const char *tile)
{
	static const char *const names[] = { "x", "dy", "w", "y", "dx", "dw", "dbias" };
	/* One rounding per term, and one for each chunk; tensor cores cut off two bits more. */
	const double unit = storage == DTYPE_F32 ? 0x1p-24 : 0x1p-22,
		     of_stored = storage == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
	const uint64_t terms[] = { [Y] = window_taps(&conv->window) * conv->channels,
				   [DX] = window_taps(&conv->window) * conv->filters,
				   [DW] = ROWS * window_positions(&conv->window),
				   [DBIAS] = ROWS * window_positions(&conv->window) };

	for (uint32_t i = Y; i < TENSORS; i++)
		for (uint64_t e = 0; (i != DBIAS || bias) && e < size_of(conv, i); e++) {
			const double found = (double)numbers[i][e], wanted = exact->sum[i][e];

			if (!(fabs(found - wanted) <=
			      (double)(terms[i] + CONV_GPU_CHUNKS_MAX) * unit * exact->magnitude[i][e] +
				      (is_stored(i) ? of_stored * fabs(wanted) : 0)))
				fail_msg("%s, %s: %s[%lu] is %g, not %g", label, tile, names[i], e, found,
					 wanted);
		}
}

/* Returns a number of the type; in float32, too, one of 16 bits. */
static float short_noise(uint64_t *seed)
{
	const enum dtype dtype = storage == DTYPE_F16 ? DTYPE_F16 : DTYPE_BF16;

	return short_float(dtype, short_bits(dtype, (float)noise(seed)));
}

/* `tile`: `count` tiles; NULL: what a plan chooses, with a count of 1. */
static void check_shape(const struct shape *shape, const struct conv_tile *tile, size_t count)
{
	const struct conv conv = conv_of_shape(shape);
	struct exact exact = { 0 };
	float *numbers[TENSORS];
	uint64_t seed = 7;

	for (uint32_t i = 0; i < TENSORS; i++) {
		numbers[i] = calloc(size_of(&conv, i), sizeof(float));
		exact.sum[i] = calloc(size_of(&conv, i), sizeof(double));
		exact.magnitude[i] = calloc(size_of(&conv, i), sizeof(double));
		for (uint64_t e = 0; i <= W && e < size_of(&conv, i); e++)
			numbers[i][e] = short_noise(&seed);
	}
	compute(&conv, &exact, numbers);
	for (size_t t = 0; t < count; t++)
		for (int bias = 0; bias < 2; bias++) {
			run(&conv, tile ? &tile[t] : NULL, bias, numbers);
			compare(&conv, &exact, numbers, bias, shape->label,
				tile ? tile[t].conv : "what a plan chooses");
		}
	for (uint32_t i = 0; i < TENSORS; i++) {
		free(numbers[i]);
		free(exact.sum[i]);
		free(exact.magnitude[i]);
	}
}

static void test_every_tile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		check_shape(&shapes[i], tiles, sizeof(tiles) / sizeof(*tiles));
}

static void check_points(size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_shape(&points[i], NULL, 1);
}

static void test_points(void **state)
{
	(void)state;
	check_points(sizeof(points) / sizeof(*points));
}

/* Computes the first so many shapes and tiles of warp groups, and fewer points for one tile, because a device
 * without tensor cores takes long. */
static void check_warp_groups(enum dtype of, size_t shape_count, size_t tile_count)
{
	struct gpu_program *plain = program;
	struct error err = { 0 };

	if (!has_warp_groups(of))
		skip();
	storage = of;
	harness_must(kernels_build(gpu, storage, NULL, 0, &program, &err), &err);
	for (size_t i = 0; i < shape_count; i++)
		check_shape(&group_shapes[i], group_tiles, tile_count);
	check_points(tile_count > 1 ? 2 : 1);
	gpu_program_free(program);
	program = plain;
	storage = DTYPE_F32;
}

static void test_every_tile_of_warp_groups(void **state)
{
	(void)state;
	check_warp_groups(DTYPE_BF16, sizeof(group_shapes) / sizeof(*group_shapes),
			  sizeof(group_tiles) / sizeof(*group_tiles));
}

/* The kernels are those of bfloat16 but for the type of the numbers. */
static void test_float16(void **state)
{
	(void)state;
	check_warp_groups(DTYPE_F16, 2, 1);
}

/* What the kernel of the launch begins with; 1: the last launch, 2: the one before it. */
static void must_begin_with(const struct plan *plan, uint32_t from_end, const char *letters)
{
	const char *kernel = plan->launch[plan->launches - from_end].kernel;

	if (strncmp(kernel, letters, strlen(letters)) != 0)
		fail_msg("the kernel is %s, not %s...", kernel, letters);
}

/* A convolution of single points is a product of matrices, so it has the tiles of products, and every kind of
 * tensor cores. */
static void test_points_are_products(void **state)
{
	static const struct {
		enum dtype storage;
		enum tensor_cores cores;
		/* what the kernels begin with; `beside`: of dkernel beside dbias */
		const char *forward, *backward, *dkernel, *beside;
	} cases[] = {
		{ DTYPE_F32, TENSOR_CORES_NONE, "gemm_nn_", "gemm_nt_", "gemm_tn_", "conv_kernel_" },
		{ DTYPE_F32, TENSOR_CORES_WARPS, "mma_nn_", "mma_nt_", "mma_tn_", "conv_kernel_" },
		{ DTYPE_BF16, TENSOR_CORES_WARPS, "mma_nn_", "mma_nt_", "mma_tn_", "conv_kernel_" },
		{ DTYPE_BF16, TENSOR_CORES_WARP_GROUPS, "wgmma_nn_", "wgmma_nt_", "wgmma_tn_",
		  "wgmma_conv_kernel_" },
		{ DTYPE_F16, TENSOR_CORES_WARPS, "mma_nn_", "mma_nt_", "mma_tn_", "conv_kernel_" },
		{ DTYPE_F16, TENSOR_CORES_WARP_GROUPS, "wgmma_nn_", "wgmma_nt_", "wgmma_tn_",
		  "wgmma_conv_kernel_" },
	};
	static const int64_t one[] = { 1, 1 };
	const struct window_keys keys = { one, one, one, "same", false };
	const struct conv conv = conv_of(64, 64, 128, 256, &keys);
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct harness h;
		uint32_t x, kernel, y, dkernel, dbias;

		harness_open(&h, gpu, &config, false);
		h.graph.storage = cases[i].storage;
		h.plan.tensor_cores = cases[i].cores;
		x = harness_tensor(&h, h.graph.storage, size_of(&conv, X));
		kernel = harness_tensor(&h, DTYPE_F32, size_of(&conv, W));
		y = harness_tensor(&h, h.graph.storage, size_of(&conv, Y));
		dkernel = harness_tensor(&h, DTYPE_F32, size_of(&conv, DW));
		dbias = harness_tensor(&h, DTYPE_F32, size_of(&conv, DBIAS));
		conv_emit(&h.plan, &conv, x, kernel, y);
		must_begin_with(&h.plan, 1, cases[i].forward);
		conv_emit_input_gradient(&h.plan, &conv, y, kernel, x, false);
		must_begin_with(&h.plan, 1, cases[i].backward);
		conv_emit_kernel_gradient(&h.plan, &conv, x, y, dkernel, GRAPH_NO_TENSOR);
		must_begin_with(&h.plan, 2, cases[i].dkernel);
		must_begin_with(&h.plan, 1, "conv_sum");
		conv_emit_kernel_gradient(&h.plan, &conv, x, y, dkernel, dbias);
		must_begin_with(&h.plan, 2, cases[i].beside);
		harness_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_tile),
		cmocka_unit_test(test_points),
		cmocka_unit_test(test_every_tile_of_warp_groups),
		cmocka_unit_test(test_float16),
		cmocka_unit_test(test_points_are_products),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_kernels);
}
