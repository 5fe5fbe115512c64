/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/conv.h"

#include "model/plan/gemm.h"
#include "model/plan/partials.h"
#include "model/plan/round.h"
#include "model/plan/storage.h"
#include "model/plan/tiles.h"

/* Parameters of the convolutions after those that every GEMM has. */
enum { CONV_WINDOW = GEMM_ARGUMENTS, CONV_ZEROS, CONV_ARGUMENTS };
/* A parameter of the gradients of kernels: tap_rows on CPU devices, on others the tiles of a chunk. */
#define KERNEL_TILES 7

/* kernels/conv_winograd.cl works on so many channels at once. */
#define QUAD_CHANNELS 16u
/* Products of a channel and filter: a quad has 16, four positions have 36. The transformations are worth a
 * third of the latter. */
#define QUAD_PRODUCTS     16u
#define POSITION_PRODUCTS 6u

/* Returns a tensor with zeros, which kernels for CPU devices read instead of padding. */
static uint32_t zeros(struct plan *plan, const struct conv *conv)
{
	const uint64_t most = conv->channels > conv->filters ? conv->channels : conv->filters;

	return plan_work(plan, conv->node, "zeros",
			 &(struct tensor){ .dtype = plan->graph->storage,
					   .rank = 1,
					   .shape = { most * (uint64_t)conv->window.size[1] } });
}

/* Returns the quads of an image, blocks of 2 x 2 positions (kernels/conv_winograd.cl), for a window of 3 x 3
 * taps with stride 1 whose quads need clearly fewer products than its positions; else 0. Neither the rows of
 * the batch nor anything else that may change between two uses of a model has a say, so its sums have one
 * order. */
static uint64_t quads_of(const struct plan *plan, const struct window *window, const struct gemm *gemm)
{
	const uint64_t quads = (uint64_t)(window->out[0] + 1) / 2 * (uint64_t)((window->out[1] + 1) / 2);
	bool fits = plan->cpu && gemm_cpu_tile(gemm->n)->winograd && gemm->k % QUAD_CHANNELS == 0;

	for (int side = 0; side < 2; side++)
		fits = fits && window->size[side] == 3 && window->stride[side] == 1 &&
		       window->dilation[side] == 1 && window->apart[side] == 1;
	return fits && QUAD_PRODUCTS * quads <= POSITION_PRODUCTS * window_positions(window) ? quads : 0;
}

/* Appends the launch that transforms the kernel for quads; returns the result. */
static uint32_t emit_kernels(struct plan *plan, const struct node *node, const struct gemm *gemm)
{
	const uint64_t columns = gemm_cpu_tile(gemm->n)->columns;
	const struct tensor shape = { .rank = 3,
				      .shape = { QUAD_PRODUCTS, gemm->k, round_up(gemm->n, columns) } };
	const uint32_t kernels =
		plan_work(plan, node, gemm->b_transposed ? "mirrored_kernels" : "kernels", &shape);

	plan_emit(plan, &(struct launch){
				.kernel = "winograd_kernels",
				.groups = { { .fixed = gemm->k, .tile = QUAD_CHANNELS },
					    { .fixed = gemm->n, .tile = columns } },
				ARGUMENTS(IN(gemm->b), OUT(kernels), INT(gemm->n), INT(gemm->k),
					  INT(gemm->b_transposed), INT(columns / 16)),
			});
	return kernels;
}

/* Returns whether tensor cores compute the convolution: warp groups do, if eight numbers that are neighbours
 * in memory are always channels of one position, or filters. */
static bool has_cores(const struct plan *plan, const struct conv *conv)
{
	return plan->tensor_cores == TENSOR_CORES_WARP_GROUPS && conv->channels % 8 == 0 &&
	       conv->filters % 8 == 0;
}

/* Appends a convolution, described as the product `gemm`: k is the channels of A, and C has a row for each
 * position of the window. */
static void emit_product(struct plan *plan, const struct conv *conv, const struct gemm *gemm,
			 const struct window *geometry, const char *name)
{
	const uint64_t quads = quads_of(plan, geometry, gemm);
	const uint32_t window = window_tensor(plan, conv->node, name, geometry);
	struct gemm with_quads = *gemm;
	struct launch launch;

	if (!plan->cpu) {
		gemm_emit_conv(plan, gemm, has_cores(plan, conv) ? TILE_WGMMA_CONV : TILE_CONV,
			       window_taps(geometry), window);
		return;
	}
	if (quads) {
		with_quads.b = emit_kernels(plan, conv->node, gemm);
		launch = gemm_winograd_launch(plan, &with_quads, quads);
	} else {
		launch = gemm_conv_launch(plan, gemm);
	}
	launch.arguments = CONV_ARGUMENTS;
	launch.argument[CONV_WINDOW] = (struct argument)IN(window);
	launch.argument[CONV_ZEROS] = (struct argument)IN(zeros(plan, conv));
	plan_emit(plan, &launch);
}

/* Returns whether the convolution is a plain matrix product, because each position reads the number of the
 * input at the same place alone. Then the kernels for matrices compute it, which on CPU devices have the same
 * bits. */
static bool is_product(const struct window *window)
{
	return window_taps(window) == 1 && window->in[0] == window->out[0] && window->in[1] == window->out[1];
}

void conv_emit(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t kernel, uint32_t y)
{
	const struct gemm gemm = { .a = x,
				   .b = storage_copy(plan, conv->node, "kernel_stored", kernel),
				   .c = y,
				   .m = GEMM_ROWS,
				   .n = conv->filters,
				   .k = conv->channels,
				   .per_row = window_positions(&conv->window),
				   .node = conv->node };

	if (is_product(&conv->window))
		gemm_emit(plan, &gemm);
	else
		emit_product(plan, conv, &gemm, &conv->window, "window");
}

/* Appends the launch that flips the kernel from [taps, channels, filters] to [taps in reverse order, filters,
 * channels]. */
static uint32_t emit_flipped(struct plan *plan, const struct conv *conv, uint32_t kernel)
{
	const uint64_t taps = window_taps(&conv->window);
	const struct tensor shape = { .dtype = plan->graph->storage,
				      .rank = 3,
				      .shape = { taps, conv->filters, conv->channels } };
	const uint32_t flipped = plan_work(plan, conv->node, "flipped", &shape);

	plan_emit(plan, &(struct launch){
				.kernel = "conv_flip",
				.groups = { { .fixed = taps * conv->channels * conv->filters,
					      .tile = ELEMENT_GROUP } },
				ARGUMENTS(IN(kernel), OUT(flipped), INT(taps), INT(conv->channels),
					  INT(conv->filters)),
			});
	return flipped;
}

void conv_emit_input_gradient(struct plan *plan, const struct conv *conv, uint32_t dy, uint32_t kernel,
			      uint32_t dx, bool add)
{
	const struct window mirrored = window_mirrored(&conv->window);
	struct gemm gemm = { .a = dy,
			     .c = dx,
			     .m = GEMM_ROWS,
			     .n = conv->channels,
			     .k = conv->filters,
			     .per_row = window_positions(&mirrored),
			     .add = add,
			     .node = conv->node };

	gemm.b_transposed = plan->cpu || is_product(&conv->window);
	gemm.b = gemm.b_transposed ? storage_copy(plan, conv->node, "kernel_stored", kernel)
				   : emit_flipped(plan, conv, kernel);
	if (is_product(&conv->window))
		gemm_emit(plan, &gemm);
	else
		emit_product(plan, conv, &gemm, &mirrored, "mirrored");
}

/* ---- Gradients of kernel and bias: a sum for each chunk of images, then the sum of the chunks ---- */

/* Returns whether all taps of a line of the kernel always cover neighbouring numbers of the image. */
static bool has_whole_lines(const struct window *window)
{
	return window->dilation[1] == 1 && window->before[1] == 0 &&
	       (window->out[1] - 1) * window->stride[1] + window->size[1] <= window->in[1];
}

/* Returns the same convolution with the taps of a line of the kernel as one tap with all their channels, if a
 * tile has room for more than one. The numbers of the kernel keep their places and their sums the order. */
static struct conv with_lines(const struct conv *conv, const struct gemm_tile *tile)
{
	struct conv lines = *conv;

	if (has_whole_lines(&conv->window) && 2 * conv->channels <= tile->rows) {
		lines.channels *= (uint64_t)conv->window.size[1];
		lines.window.size[1] = 1;
	}
	return lines;
}

/* Returns the launch that computes the partial sums in `groups` groups for each chunk and tile of columns. */
static struct launch kernel_launch(const struct conv *conv, const struct partials *partials,
				   const char *kernel, uint64_t columns, uint64_t groups, uint32_t window,
				   uint32_t x, uint32_t dy)
{
	return (struct launch){
		.kernel = kernel,
		.groups = { { .fixed = partials->chunks * groups },
			    { .fixed = partials->columns, .tile = columns } },
		ARGUMENTS(IN(x), IN(dy), OUT(partials->tensor), AT(ROWS), INT(partials->length),
			  INT(conv->channels), INT(conv->filters), INT(partials->tap_rows), IN(window)),
	};
}

/* Appends the launch of the partial sums for CPU devices: a work-group computes one tap of a partial sum. */
static struct partials emit_kernel_taps(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy)
{
	const struct gemm_tile *tile = gemm_cpu_tile(conv->filters);
	const struct conv used = with_lines(conv, tile);
	const uint32_t window = window_tensor(
		plan, conv->node, used.channels > conv->channels ? "lines" : "window", &used.window);
	struct partials partials = { .taps = window_taps(&used.window),
				     .channels = used.channels,
				     .filters = used.filters,
				     .tap_rows = round_up(used.channels, tile->rows),
				     .columns = round_up(used.filters, tile->columns) };
	struct launch launch;

	partials_make(plan, conv->node, &partials);
	launch = kernel_launch(&used, &partials, tile->conv_kernel, tile->columns, partials.taps + 1, window,
			       x, dy);
	launch.argument[launch.arguments++] = (struct argument)INT(conv->channels);
	plan_emit(plan, &launch);
	return partials;
}

/* Returns how devices that are not CPUs compute the gradients of `rows` rows of kernel and bias. Where the
 * channels are no multiple of 4, each number is loaded by itself: then more groups wait for loads at the same
 * time. */
static struct tile_use kernel_use(const struct plan *plan, const struct conv *conv, enum tile_kernel kernel,
				  uint64_t rows)
{
	const uint64_t terms = plan->graph->batch_rows * window_positions(&conv->window);
	const uint64_t partials_max = TILE_PARTIALS_MAX / (rows * conv->filters);
	const uint64_t most = partials_max < CONV_GPU_CHUNKS_MAX ? partials_max : CONV_GPU_CHUNKS_MAX;
	const uint64_t apart = conv->channels % 4 ? 4 : 1;
	struct tile_use use = tiles_choose(rows, conv->filters, terms, kernel, most / apart, true);

	use.length = round_up(divide_up(use.length, apart), TILE_LENGTH_UNIT);
	use.count = divide_up(terms, use.length);
	return use;
}

/* Appends the launch of the partial sums for other devices: a work-group computes one tile of a partial sum,
 * and a chunk is some positions. */
static struct partials emit_kernel_tiles(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
					 bool bias)
{
	const uint64_t taps = window_taps(&conv->window), rows = taps * conv->channels;
	const enum tile_kernel kernel = has_cores(plan, conv) ? TILE_WGMMA_CONV_KERNEL : TILE_CONV_KERNEL;
	const struct tile_use use = kernel_use(plan, conv, kernel, rows + bias);
	const uint64_t tiles = divide_up(rows + bias, use.tile->rows);
	const struct tensor all = { .rank = 1, .shape = { use.count * (rows + 1) * conv->filters } };
	const struct partials partials = { .taps = taps,
					   .channels = conv->channels,
					   .filters = conv->filters,
					   .tap_rows = conv->channels,
					   .columns = conv->filters,
					   .bias_row = true,
					   .chunks = use.count,
					   .length = use.length,
					   .tensor = plan_work(plan, conv->node, "partials", &all) };
	struct launch launch =
		kernel_launch(conv, &partials, use.tile->kernel[kernel], use.tile->columns, tiles,
			      window_tensor(plan, conv->node, "window", &conv->window), x, dy);

	launch.argument[KERNEL_TILES] = (struct argument)INT(tiles);
	plan_emit(plan, &launch);
	return partials;
}

/* Appends the launch of the partial sums of a product x^T dy, for other devices. */
static struct partials emit_kernel_product(struct plan *plan, const struct conv *conv, uint32_t x,
					   uint32_t dy)
{
	const struct gemm gemm = { .a = x,
				   .b = dy,
				   .m = conv->channels,
				   .n = conv->filters,
				   .k = GEMM_ROWS,
				   .per_row = window_positions(&conv->window),
				   .a_transposed = true,
				   .node = conv->node };
	struct partials partials = { .taps = 1,
				     .channels = conv->channels,
				     .filters = conv->filters,
				     .tap_rows = conv->channels,
				     .columns = conv->filters };

	partials.chunks = gemm_emit_chunks(plan, &gemm, CONV_GPU_CHUNKS_MAX, &partials.tensor);
	return partials;
}

void conv_emit_kernel_gradient(struct plan *plan, const struct conv *conv, uint32_t x, uint32_t dy,
			       uint32_t dkernel, uint32_t dbias)
{
	const bool bias = dbias != GRAPH_NO_TENSOR;
	struct partials partials;

	if (plan->cpu)
		partials = emit_kernel_taps(plan, conv, x, dy);
	else if (is_product(&conv->window) && !bias)
		partials = emit_kernel_product(plan, conv, x, dy);
	else
		partials = emit_kernel_tiles(plan, conv, x, dy, bias);
	partials_emit_sum(plan, &partials, dkernel, dbias);
}
