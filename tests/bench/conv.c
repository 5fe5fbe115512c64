/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution 3x3, 64 -> 64 channels, 56 x 56, batch 32, padding "same", with bias: prints the microseconds
 * of forward and of backward (input, kernel, bias), each a median of passes. Some numbers of the results are
 * compared with float64 first.
 * Usage: conv [PASSES]      prints "FORWARD BACKWARD"
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include "model/plan/conv.h"

#define ROWS       32u
#define SIDE       56u
#define CHANNELS   64u
#define TAPS       9u
#define POSITIONS  (SIDE * SIDE)
#define NUMBERS    (ROWS * POSITIONS * CHANNELS)
#define KERNEL     (TAPS * CHANNELS * CHANNELS)
#define SAMPLES    200u
#define PASSES_MAX 101u

enum { X, DY, Y, DX, W, B, DW, DB, TENSORS };
static const uint32_t sizes[] = { NUMBERS, NUMBERS, NUMBERS, NUMBERS, KERNEL, CHANNELS, KERNEL, CHANNELS };
static float *numbers[TENSORS];
static const struct node node = { .name = "c" };

static void open_harness(struct harness *h, struct gpu *gpu, const struct config *config,
			 struct gpu_program *program, uint32_t tensor[static TENSORS], bool backward)
{
	const struct conv conv = { .node = &node,
				   .window = { .in = { SIDE, SIDE },
					       .out = { SIDE, SIDE },
					       .size = { 3, 3 },
					       .stride = { 1, 1 },
					       .dilation = { 1, 1 },
					       .before = { 1, 1 },
					       .apart = { 1, 1 } },
				   .channels = CHANNELS,
				   .filters = CHANNELS };

	harness_open(h, gpu, config, gpu_is_cpu(gpu));
	for (uint32_t i = 0; i < TENSORS; i++)
		tensor[i] = harness_tensor(h, DTYPE_F32, sizes[i]);
	if (backward) {
		conv_emit_kernel_gradient(&h->plan, &conv, tensor[X], tensor[DY], tensor[DW], tensor[DB]);
		conv_emit_input_gradient(&h->plan, &conv, tensor[DY], tensor[W], tensor[DX], false);
	} else {
		conv_emit(&h->plan, &conv, tensor[X], tensor[W], tensor[Y]);
		plan_emit(&h->plan,
			  &(struct launch){
				  .kernel = "bias_add",
				  .groups = { { .per_row = POSITIONS * CHANNELS, .tile = ELEMENT_GROUP } },
				  ARGUMENTS(INOUT(tensor[Y]), IN(tensor[B]), ROWS_TIMES(POSITIONS),
					    INT(CHANNELS)),
			  });
		plan_fuse(&h->plan);
	}
	harness_bind(h, program);
	harness_put(h, tensor[X], numbers[X]);
	harness_put(h, tensor[DY], numbers[DY]);
	harness_put(h, tensor[W], numbers[W]);
	harness_put(h, tensor[B], numbers[B]);
}

static double pass(struct harness *h)
{
	const struct plan_values values = { .rows = ROWS, .valid_rows = ROWS, .update = 1 };
	const double start = now_us();

	harness_run(h, &values);
	return now_us() - start;
}

/* ---- Float64, for one number ---- */

static double source(const float *x, uint32_t row, int32_t h, int32_t w, uint32_t c)
{
	if (h < 0 || w < 0 || h >= (int32_t)SIDE || w >= (int32_t)SIDE)
		return 0;
	return (double)x[((row * SIDE + (uint32_t)h) * SIDE + (uint32_t)w) * CHANNELS + c];
}

/* A number of y, or, with `mirrored`, of dx. */
static double wanted_position(uint32_t at, bool mirrored)
{
	const uint32_t f = at % CHANNELS, position = at / CHANNELS % POSITIONS,
		       row = at / CHANNELS / POSITIONS;
	double sum = mirrored ? 0 : (double)numbers[B][f];

	for (uint32_t t = 0; t < TAPS; t++)
		for (uint32_t c = 0; c < CHANNELS; c++) {
			const int32_t h = (int32_t)(position / SIDE + t / 3) - 1,
				      w = (int32_t)(position % SIDE + t % 3) - 1;

			sum += source(numbers[mirrored ? DY : X], row, h, w, c) *
			       (double)numbers[W][mirrored ? ((TAPS - 1 - t) * CHANNELS + f) * CHANNELS + c
							   : (t * CHANNELS + c) * CHANNELS + f];
		}
	return sum;
}

static double wanted_kernel(uint32_t at, bool bias)
{
	const uint32_t f = at % CHANNELS, c = at / CHANNELS % CHANNELS, t = at / CHANNELS / CHANNELS;
	double sum = 0;

	for (uint32_t p = 0; p < ROWS * POSITIONS; p++) {
		const int32_t h = (int32_t)(p % POSITIONS / SIDE + t / 3) - 1,
			      w = (int32_t)(p % SIDE + t % 3) - 1;

		sum += (double)numbers[DY][p * CHANNELS + f] *
		       (bias ? 1 : source(numbers[X], p / POSITIONS, h, w, c));
	}
	return sum;
}

static void verify(struct harness *h, uint32_t tensor, uint32_t which)
{
	float *found = calloc(sizes[which], sizeof(*found));
	uint64_t seed = which;

	if (!found)
		abort();
	harness_get(h, tensor, found);
	for (uint32_t i = 0; i < (which < W ? SAMPLES : SAMPLES / 10); i++) {
		const uint32_t at = (uint32_t)((noise(&seed) + 1) / 2 * sizes[which]) % sizes[which];
		const double wanted =
			which < W ? wanted_position(at, which == DX) : wanted_kernel(at, which == DB);

		if (!(fabs((double)found[at] - wanted) <=
		      (which < W ? 1e-5 : 2e-2) * fmax(1, fabs(wanted)))) {
			(void)fprintf(stderr, "conv: number %u of tensor %u is %g, not %g\n", at, which,
				      (double)found[at], wanted);
			exit(1);
		}
	}
	free(found);
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;
	const uint32_t passes = asked < 1 ? 1 : asked > PASSES_MAX ? PASSES_MAX : asked;
	const struct config config = model_config(NULL, 0, 1, 1, ROWS);
	double forward_us[PASSES_MAX], backward_us[PASSES_MAX];
	struct gpu *gpu = open_device();
	struct gpu_program *program = NULL;
	uint32_t of_forward[TENSORS], of_backward[TENSORS];
	struct harness forward, backward;
	struct error err = { 0 };
	uint64_t seed = 44;

	for (uint32_t t = 0; t < TENSORS; t++) {
		numbers[t] = calloc(sizes[t], sizeof(float));
		for (uint32_t i = 0; numbers[t] && i < sizes[t]; i++)
			numbers[t][i] = (float)noise(&seed) * (t >= W ? 0.1f : 1.0f);
		if (!numbers[t])
			abort();
	}
	harness_must(kernels_build(gpu, DTYPE_F32, NULL, 0, &program, &err), &err);
	open_harness(&forward, gpu, &config, program, of_forward, false);
	open_harness(&backward, gpu, &config, program, of_backward, true);
	(void)pass(&forward);
	(void)pass(&backward);
	verify(&forward, of_forward[Y], Y);
	verify(&backward, of_backward[DX], DX);
	verify(&backward, of_backward[DW], DW);
	verify(&backward, of_backward[DB], DB);
	(void)fprintf(stderr, "%s\n", gpu_description(gpu));
	for (uint32_t i = 0; i < passes; i++) {
		forward_us[i] = pass(&forward);
		backward_us[i] = pass(&backward);
	}
	printf("%.1f %.1f\n", median(forward_us, passes), median(backward_us, passes));
	harness_close(&forward);
	harness_close(&backward);
	gpu_program_free(program);
	close_device(gpu);
	for (uint32_t t = 0; t < TENSORS; t++)
		free(numbers[t]);
	return 0;
}
