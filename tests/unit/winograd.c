/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in quads (kernels/conv_winograd.cl): which windows they are used for, and that the numbers of
 * a row have the same bits whatever other rows the batch has. Their comparison with float64 is in
 * ops_image.c. */
#include "tests/unit/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/conv_shape.h"

#define ROWS 29u

static const struct shape {
	const char *label;
	uint64_t height, width, channels, filters;
	int64_t size[2], strides[2], dilation[2];
	const char *padding;
	bool y, dx; /* whether they are computed in quads */
} shapes[] = {
	{ "even", 8, 12, 32, 64, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same", true, true },
	{ "odd, without padding", 9, 13, 80, 48, { 3, 3 }, { 1, 1 }, { 1, 1 }, "valid", true, true },
	{ "a column of quads beyond the edge",
	  7,
	  7,
	  16,
	  200,
	  { 3, 3 },
	  { 1, 1 },
	  { 1, 1 },
	  "same",
	  true,
	  false },
	{ "too many beyond the edges", 3, 3, 32, 32, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same", false, false },
	{ "three channels", 8, 8, 3, 32, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same", false, false },
	{ "few filters", 8, 8, 32, 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same", false, true },
	{ "other numbers of channels", 8, 8, 36, 40, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same", false, false },
	{ "other size", 8, 8, 32, 32, { 3, 2 }, { 1, 1 }, { 1, 1 }, "same", false, false },
	{ "strides", 8, 8, 32, 32, { 3, 3 }, { 2, 2 }, { 1, 1 }, "same", false, false },
	{ "dilation", 8, 8, 32, 32, { 3, 3 }, { 1, 1 }, { 2, 2 }, "same", false, false },
};

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

enum { X, DY, W, Y, DX, TENSORS };

/* One pass over some rows of the batch. */
struct pass {
	struct harness h;
	uint32_t tensor[TENSORS];
	bool y, dx; /* whether they are computed in quads */
};

static uint64_t size_of(const struct conv *conv, uint32_t which, uint64_t rows)
{
	const uint64_t pixels = (uint64_t)conv->window.in[0] * (uint64_t)conv->window.in[1];

	if (which == W)
		return window_taps(&conv->window) * conv->channels * conv->filters;
	if (which == X || which == DX)
		return rows * pixels * conv->channels;
	return rows * window_positions(&conv->window) * conv->filters;
}

static bool is_in_quads(const struct harness *h)
{
	return !strncmp(h->plan.launch[h->plan.launches - 1].kernel, "conv_winograd", 13);
}

static void pass_open(struct pass *pass, const struct conv *conv, uint64_t rows)
{
	const struct config config = model_config(NULL, 0, 1, 1, rows);
	struct harness *h = &pass->h;

	harness_open(h, gpu, &config, true);
	for (uint32_t i = 0; i < TENSORS; i++)
		pass->tensor[i] = harness_tensor(h, DTYPE_F32, size_of(conv, i, rows));
	conv_emit(&h->plan, conv, pass->tensor[X], pass->tensor[W], pass->tensor[Y]);
	pass->y = is_in_quads(h);
	conv_emit_input_gradient(&h->plan, conv, pass->tensor[DY], pass->tensor[W], pass->tensor[DX], false);
	pass->dx = is_in_quads(h);
}

static void test_windows_of_quads(void **state)
{
	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const struct conv conv = conv_of_shape(&shapes[i]);
		struct pass pass;

		pass_open(&pass, &conv, 1);
		if (pass.y != shapes[i].y || pass.dx != shapes[i].dx)
			fail_msg("%s: y %d, dx %d", shapes[i].label, pass.y, pass.dx);
		harness_close(&pass.h);
	}
}

/* Runs rows `first` ... of the numbers of all rows; writes y and dx of these rows into `numbers`. */
static void run_rows(const struct conv *conv, float *const numbers[static TENSORS], uint64_t first,
		     uint64_t rows)
{
	const struct plan_values values = { .rows = (int32_t)rows, .valid_rows = (int32_t)rows, .update = 1 };
	float *at[TENSORS];
	struct pass pass;

	pass_open(&pass, conv, rows);
	harness_bind(&pass.h, program);
	for (uint32_t i = 0; i < TENSORS; i++) {
		at[i] = numbers[i] + (i == W ? 0 : size_of(conv, i, first));
		if (i < Y)
			harness_put(&pass.h, pass.tensor[i], at[i]);
	}
	harness_run(&pass.h, &values);
	harness_get(&pass.h, pass.tensor[Y], at[Y]);
	harness_get(&pass.h, pass.tensor[DX], at[DX]);
	harness_close(&pass.h);
}

static void compare_rows(const struct shape *shape)
{
	const struct conv conv = conv_of_shape(shape);
	float *together[TENSORS], *apart[TENSORS];
	uint64_t seed = 44;

	for (uint32_t i = 0; i < TENSORS; i++) {
		const uint64_t size = size_of(&conv, i, ROWS);

		together[i] = calloc(size, sizeof(float));
		apart[i] = i < Y ? together[i] : calloc(size, sizeof(float));
		for (uint64_t e = 0; i < Y && e < size; e++)
			together[i][e] = (float)noise(&seed);
	}
	run_rows(&conv, together, 0, ROWS);
	for (uint64_t row = 0; row < ROWS; row++)
		run_rows(&conv, apart, row, 1);
	for (uint32_t i = 0; i < TENSORS; i++) {
		if (memcmp(together[i], apart[i], size_of(&conv, i, ROWS) * sizeof(float)) != 0)
			fail_msg("%s: tensor %u differs", shape->label, i);
		if (i >= Y)
			free(apart[i]);
		free(together[i]);
	}
}

static void test_rows_have_their_own_bits(void **state)
{
	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].y || shapes[i].dx)
			compare_rows(&shapes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_of_quads),
		cmocka_unit_test(test_rows_have_their_own_bits),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_kernels);
}
