/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A depthwise convolution, padding "same", without bias, as in EfficientNet-Lite0: prints the microseconds of
 * forward and of backward (input and kernel), each a median of passes. Some numbers of the results are
 * compared with float64 first.
 * Usage: depthwise ROWS SIDE CHANNELS SIZE STRIDE PASSES      prints "FORWARD BACKWARD"
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include "model/plan/conv.h"

#define SAMPLES    200u
#define PASSES_MAX 101u

enum { X, DY, W, Y, DX, DW, TENSORS };

struct layer {
	struct conv conv;
	uint64_t rows, size[TENSORS];
	float *numbers[TENSORS];
};

static struct layer make_layer(char **argument)
{
	static const struct node node = { .name = "c" };
	int64_t given[5], *size = &given[3], *stride = &given[4];
	struct layer layer = { .conv.node = &node };
	struct tensor input = { .name = "x", .rank = 3 };
	struct error err = { 0 };

	for (uint32_t i = 0; i < 5; i++)
		given[i] = strtoll(argument[i], NULL, 10);
	layer.rows = (uint64_t)given[0];
	input.shape[0] = input.shape[1] = (uint64_t)given[1];
	input.shape[2] = layer.conv.channels = layer.conv.filters = (uint64_t)given[2];
	harness_must(window_make(&input,
				 &(struct window_keys){ .size = (int64_t[]){ *size, *size },
							.strides = (int64_t[]){ *stride, *stride },
							.dilation = (int64_t[]){ 1, 1 },
							.padding = "same" },
				 &layer.conv.window, &err),
		     &err);
	layer.size[X] = layer.size[DX] = layer.rows * input.shape[0] * input.shape[1] * input.shape[2];
	layer.size[Y] = layer.size[DY] =
		layer.rows * window_positions(&layer.conv.window) * layer.conv.filters;
	layer.size[W] = layer.size[DW] = window_taps(&layer.conv.window) * layer.conv.filters;
	return layer;
}

static void open_harness(struct harness *h, const struct layer *layer, struct gpu *gpu,
			 const struct config *config, struct gpu_program *program,
			 uint32_t tensor[static TENSORS], bool backward)
{
	harness_open(h, gpu, config, gpu_is_cpu(gpu));
	for (uint32_t i = 0; i < TENSORS; i++)
		tensor[i] = harness_tensor(h, DTYPE_F32, layer->size[i]);
	if (backward) {
		conv_emit_depthwise_kernel_gradient(&h->plan, &layer->conv, tensor[X], tensor[DY], tensor[DW],
						    GRAPH_NO_TENSOR);
		conv_emit_depthwise_input_gradient(&h->plan, &layer->conv, tensor[DY], tensor[W], tensor[DX],
						   false);
	} else {
		conv_emit_depthwise(&h->plan, &layer->conv, tensor[X], tensor[W], tensor[Y]);
	}
	harness_bind(h, program);
	for (uint32_t i = 0; i <= W; i++)
		harness_put(h, tensor[i], layer->numbers[i]);
}

static double pass(struct harness *h, const struct layer *layer)
{
	const struct plan_values values = { .rows = (int32_t)layer->rows,
					    .valid_rows = (int32_t)layer->rows,
					    .update = 1 };
	const double start = now_us();

	harness_run(h, &values);
	return now_us() - start;
}

/* ---- Float64, for one number ---- */

/* Adds all products of the layer that belong to number `at` of tensor `which`. */
static double wanted(const struct layer *layer, uint32_t which, uint64_t at)
{
	const struct window *window = &layer->conv.window;
	const uint64_t c = at % layer->conv.channels, place = at / layer->conv.channels,
		       positions = window_positions(window), taps = window_taps(window);
	const uint64_t inputs = (uint64_t)window->in[0] * (uint64_t)window->in[1];
	const uint64_t row = place / (which == Y ? positions : inputs);
	double sum = 0;

	for (uint64_t n = which == DW ? 0 : row; n < (which == DW ? layer->rows : row + 1); n++)
		for (uint64_t p = 0; p < positions; p++)
			for (uint64_t t = 0; t < taps; t++) {
				const int32_t y = window_source(window, 0, (int32_t)p / window->out[1],
								(int32_t)t / window->size[1]),
					      x = window_source(window, 1, (int32_t)p % window->out[1],
								(int32_t)t % window->size[1]);
				const uint64_t from = n * inputs + (uint64_t)(y * window->in[1] + x),
					       to = n * positions + p;

				if (y < 0 || x < 0 || place != (which == Y ? to : which == DX ? from : t))
					continue;
				sum += (which == Y
						? 1.0
						: (double)layer->numbers[DY][to * layer->conv.channels + c]) *
				       (which == DX ? 1.0
						    : (double)layer
							      ->numbers[X][from * layer->conv.channels + c]) *
				       (which == DW
						? 1.0
						: (double)layer->numbers[W][t * layer->conv.channels + c]);
			}
	return sum;
}

static void verify(struct harness *h, const struct layer *layer, uint32_t tensor, uint32_t which)
{
	float *found = calloc(layer->size[which], sizeof(*found));
	uint64_t seed = which;

	if (!found)
		abort();
	harness_get(h, tensor, found);
	for (uint32_t i = 0; i < (which == DW ? SAMPLES / 20 : SAMPLES); i++) {
		const uint64_t at =
			(uint64_t)((noise(&seed) + 1) / 2 * (double)layer->size[which]) % layer->size[which];
		const double right = wanted(layer, which, at);

		if (!(fabs((double)found[at] - right) <=
		      (which == DW ? 2e-2 : 1e-5) * fmax(1, fabs(right)))) {
			(void)fprintf(stderr, "depthwise: number %llu of tensor %u is %g, not %g\n",
				      (unsigned long long)at, which, (double)found[at], right);
			exit(1);
		}
	}
	free(found);
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc == 7 ? (uint32_t)strtoul(argv[6], NULL, 10) : 0;
	const uint32_t passes = asked > PASSES_MAX ? PASSES_MAX : asked;
	double forward_us[PASSES_MAX], backward_us[PASSES_MAX];
	uint32_t of_forward[TENSORS], of_backward[TENSORS];
	struct harness forward, backward;
	struct gpu_program *program = NULL;
	struct error err = { 0 };
	uint64_t seed = 44;

	if (!passes) {
		(void)fprintf(stderr, "Usage: depthwise ROWS SIDE CHANNELS SIZE STRIDE PASSES\n");
		return 2;
	}
	struct gpu *gpu = open_device();
	struct layer layer = make_layer(argv + 1);
	const struct config config = model_config(NULL, 0, 1, 1, layer.rows);

	for (uint32_t t = 0; t <= W; t++) {
		layer.numbers[t] = calloc(layer.size[t], sizeof(float));
		for (uint64_t i = 0; layer.numbers[t] && i < layer.size[t]; i++)
			layer.numbers[t][i] = (float)noise(&seed);
		if (!layer.numbers[t])
			abort();
	}
	harness_must(kernels_build(gpu, DTYPE_F32, NULL, 0, &program, &err), &err);
	open_harness(&forward, &layer, gpu, &config, program, of_forward, false);
	open_harness(&backward, &layer, gpu, &config, program, of_backward, true);
	(void)pass(&forward, &layer);
	(void)pass(&backward, &layer);
	verify(&forward, &layer, of_forward[Y], Y);
	verify(&backward, &layer, of_backward[DX], DX);
	verify(&backward, &layer, of_backward[DW], DW);
	(void)fprintf(stderr, "%s\n", gpu_description(gpu));
	for (uint32_t i = 0; i < passes; i++) {
		forward_us[i] = pass(&forward, &layer);
		backward_us[i] = pass(&backward, &layer);
	}
	printf("%.1f %.1f\n", median(forward_us, passes), median(backward_us, passes));
	harness_close(&forward);
	harness_close(&backward);
	gpu_program_free(program);
	close_device(gpu);
	for (uint32_t t = 0; t <= W; t++)
		free(layer.numbers[t]);
	return 0;
}
