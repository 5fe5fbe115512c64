/* SPDX-License-Identifier: Apache-2.0 */
/* The two families of depthwise kernels, one work-item for each number and whole lines, have the same bits.
 * Their comparison with float64 is in ops_image.c. */
#include "tests/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#include "tests/unit/conv_shape.h"

#define ROWS 3u

static struct gpu *gpu;
static struct gpu_program *program[3];
static const enum dtype storages[3] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16 };

static const struct shape {
	const char *label;
	uint64_t height, width, channels;
	int64_t size[2], strides[2], dilation[2];
	const char *padding;
} shapes[] = {
	{ "one number", 1, 1, 1, { 1, 1 }, { 1, 1 }, { 1, 1 }, "valid" },
	{ "3x3", 9, 11, 16, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "3x3 valid", 9, 11, 40, { 3, 3 }, { 1, 1 }, { 1, 1 }, "valid" },
	{ "3x3 strides 2", 12, 15, 144, { 3, 3 }, { 2, 2 }, { 1, 1 }, "same" },
	{ "3x3 valid strides 2", 12, 15, 24, { 3, 3 }, { 2, 2 }, { 1, 1 }, "valid" },
	{ "5x5", 7, 7, 81, { 5, 5 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "5x5 strides 2", 14, 14, 33, { 5, 5 }, { 2, 2 }, { 1, 1 }, "same" },
	{ "5x5 larger than the image", 3, 2, 17, { 5, 5 }, { 1, 1 }, { 1, 1 }, "same" },
	{ "2x4 strides 3, 1", 8, 10, 50, { 2, 4 }, { 3, 1 }, { 1, 1 }, "same" },
	{ "7x1 strides 1, 4", 8, 10, 65, { 7, 1 }, { 1, 4 }, { 1, 1 }, "same" },
	{ "strides above the size", 10, 9, 5, { 2, 1 }, { 4, 3 }, { 1, 1 }, "valid" },
	{ "dilation", 11, 12, 20, { 3, 3 }, { 1, 1 }, { 2, 3 }, "same" },
	{ "dilation valid", 11, 12, 48, { 3, 8 }, { 1, 1 }, { 2, 1 }, "valid" },
	{ "more channels than a group", 4, 5, 300, { 3, 3 }, { 1, 1 }, { 1, 1 }, "same" },
};

static int open_gpu(void **state)
{
	struct error err = { 0 };

	(void)state;
	gpu = open_device();
	for (uint32_t i = 0; i < 3; i++)
		harness_must(kernels_build(gpu, storages[i], NULL, 0, &program[i], &err), &err);
	return 0;
}

static int close_gpu(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		gpu_program_free(program[i]);
	close_device(gpu);
	return 0;
}

enum { X, DY, W, Y, DX, SUM, DW, DB, TENSORS };

/* What one family computes; SUM: the gradient of the input added to what is there. */
struct results {
	void *data[TENSORS];
	uint64_t bytes[TENSORS];
};

static struct conv conv_of_shape(const struct shape *shape)
{
	const struct window_keys keys = { shape->size, shape->strides, shape->dilation, shape->padding,
					  false };

	return conv_of(shape->height, shape->width, shape->channels, shape->channels, &keys);
}

static void emit(struct harness *h, const struct conv *conv, const uint32_t tensor[static TENSORS])
{
	conv_emit_depthwise(&h->plan, conv, tensor[X], tensor[W], tensor[Y]);
	conv_emit_depthwise_input_gradient(&h->plan, conv, tensor[DY], tensor[W], tensor[DX], false);
	conv_emit_depthwise_input_gradient(&h->plan, conv, tensor[DY], tensor[W], tensor[SUM], true);
	conv_emit_depthwise_kernel_gradient(&h->plan, conv, tensor[X], tensor[DY], tensor[DW], tensor[DB]);
}

/* Fills a tensor with bit patterns of numbers between -1 and 1. */
static void fill(struct harness *h, uint32_t tensor, uint64_t seed)
{
	const struct tensor *what = graph_at(&h->graph, tensor);
	uint16_t *half = calloc(what->elements, sizeof(float));
	float *whole = (float *)half;

	for (uint64_t i = 0; i < what->elements; i++) {
		const float number = (float)noise(&seed);
		uint32_t bits;

		memcpy(&bits, &number, sizeof(bits));
		if (what->dtype == DTYPE_F32)
			whole[i] = number;
		else /* a sign, an exponent that stays small, and some bits */
			half[i] = (uint16_t)((bits >> 16 & 0x8000u) |
					     (what->dtype == DTYPE_F16 ? 0x3400u : 0x3e80u) |
					     (bits >> 8 & 0x7fu));
	}
	harness_put(h, tensor, half);
	free(half);
}

static void compute(const struct shape *shape, uint32_t storage, bool lines, struct results *ret_results)
{
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);
	const struct plan_values values = { .rows = ROWS, .valid_rows = ROWS, .update = 1 };
	const struct conv conv = conv_of_shape(shape);
	const uint64_t in = ROWS * shape->height * shape->width * shape->channels,
		       out = ROWS * window_positions(&conv.window) * shape->channels,
		       kernel = window_taps(&conv.window) * shape->channels;
	const uint64_t sizes[TENSORS] = { in, out, kernel, out, in, in, kernel, shape->channels };
	uint32_t tensor[TENSORS];
	struct harness h;

	harness_open(&h, gpu, &config, lines);
	h.graph.storage = storages[storage];
	for (uint32_t i = 0; i < TENSORS; i++)
		tensor[i] = harness_tensor(&h, i == W || i >= DW ? DTYPE_F32 : storages[storage], sizes[i]);
	emit(&h, &conv, tensor);
	assert_int_equal(!strcmp(h.plan.launch[0].kernel, "depthwise_lines"), lines);
	harness_bind(&h, program[storage]);
	for (uint32_t i = 0; i < TENSORS; i++)
		fill(&h, tensor[i], i);
	harness_run(&h, &values);
	for (uint32_t i = 0; i < TENSORS; i++) {
		ret_results->bytes[i] = graph_at(&h.graph, tensor[i])->bytes;
		ret_results->data[i] = calloc(1, ret_results->bytes[i]);
		harness_get(&h, tensor[i], ret_results->data[i]);
	}
	harness_close(&h);
}

static void test_lines_have_the_bits_of_numbers(void **state)
{
	(void)state;
	if (!gpu_is_cpu(gpu))
		skip();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (uint32_t storage = 0; storage < 3; storage++) {
			struct results numbers, lines;

			compute(&shapes[i], storage, false, &numbers);
			compute(&shapes[i], storage, true, &lines);
			for (uint32_t t = 0; t < TENSORS; t++) {
				if (memcmp(numbers.data[t], lines.data[t], numbers.bytes[t]) != 0)
					fail_msg("%s, %s: tensor %u differs", shapes[i].label,
						 dtype_name(storages[storage]), t);
				free(numbers.data[t]);
				free(lines.data[t]);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_have_the_bits_of_numbers),
	};

	return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
