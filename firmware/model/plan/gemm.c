/* SPDX-License-Identifier: Apache-2.0 */
#include "model/plan/gemm.h"

#include "model/plan/round.h"
#include "model/plan/tiles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A wide tile uses each value of A more often; a narrow tile wastes fewer lanes on a narrow C. */
static const struct gemm_tile cpu_tiles[] = {
	{ "gemm_6x64", "gemm_packed_6x64", "conv_packed_6x64", "conv_winograd_6x64", "conv_kernel_6x64", 6,
	  64 },
	{ "gemm_8x32", "gemm_packed_8x32", "conv_packed_8x32", "conv_winograd_8x32", "conv_kernel_8x32", 8,
	  32 },
	{ "gemm_8x16", "gemm_packed_8x16", "conv_packed_8x16", NULL, "conv_kernel_8x16", 8, 16 },
};
/* Packing pays for operands of at least this many numbers: they do not stay in the caches of a core while the
 * tiles read them again and again. */
#define PACKED_NUMBERS (UINT64_C(1) << 18)
/* With fewer rows of C, a packed panel is not read often enough to pay for packing. */
#define PACKED_ROWS_MIN 48u
/* kernels/panels.cl has the same numbers. PANELS: tiles side by side in a group. PACKED_TERMS_AT_ONCE:
 * largest K without partial sums in memory. PACKED_ROWS_MAX: most rows of a group with partial sums;
 * PACKED_ROWS_AT_ONCE: without. */
#define PANELS               2u
#define PACKED_TERMS_AT_ONCE 512u
#define PACKED_ROWS_MAX      528u
#define PACKED_ROWS_AT_ONCE  1056u
/* kernels/conv_winograd.cl has the same number: most quads of a group. */
#define QUAD_ROWS 48u
/* Desired number of work-groups: a few times the number of cores. */
#define PACKED_GROUPS 16u
/* Rows and columns of a tile of the kernel that copies a transposed A. */
#define TRANSPOSE_TILE 16u

const struct gemm_tile *gemm_cpu_tile(uint64_t n)
{
	if (n > 32)
		return &cpu_tiles[0];
	return n > 16 ? &cpu_tiles[1] : &cpu_tiles[2];
}

static uint64_t per_row(const struct gemm *gemm)
{
	return gemm->per_row ? gemm->per_row : 1;
}

static struct argument size_of(uint64_t constant, uint64_t times)
{
	if (constant == GEMM_ROWS)
		return (struct argument)ROWS_TIMES(times);
	return (struct argument)INT(constant);
}

/* Returns `size`, which is m or k of the product, for a full batch. */
static uint64_t whole(const struct plan *plan, const struct gemm *gemm, uint64_t size)
{
	return size == GEMM_ROWS ? plan->graph->batch_rows * per_row(gemm) : size;
}

/* Returns EPILOGUE_WIDE for a gradient of weights if activations are not float32: the gradient is float32
 * nevertheless. */
static uint32_t wide(const struct plan *plan, const struct gemm *gemm)
{
	return graph_at(plan->graph, gemm->c)->dtype == plan->graph->storage ? 0 : EPILOGUE_WIDE;
}

/* Returns a launch of a kernel whose groups compute one tile each. */
static struct launch tile_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel,
				 uint64_t rows, uint64_t columns)
{
	const uint64_t seed = plan->graph->config->run.seed, times = per_row(gemm);
	struct launch launch = {
		.kernel = kernel,
		.groups = { { .fixed = gemm->m, .per_row = gemm->m == GEMM_ROWS ? times : 0, .tile = rows },
			    { .fixed = gemm->n, .tile = columns } },
		ARGUMENTS([GEMM_A] = IN(gemm->a), [GEMM_B] = IN(gemm->b), [GEMM_C] = OUT(gemm->c),
			  [GEMM_M] = size_of(gemm->m, times), [GEMM_N] = INT(gemm->n),
			  [GEMM_K] = size_of(gemm->k, times),
			  [GEMM_STRIDE_ROW] =
				  gemm->a_transposed ? (struct argument)INT(1) : size_of(gemm->k, times),
			  [GEMM_STRIDE_K] = INT(gemm->a_transposed ? gemm->m : 1),
			  [GEMM_B_TRANSPOSED] = INT(gemm->b_transposed), [GEMM_GROUP_ROWS] = INT(rows),
			  [GEMM_EPILOGUE] = UINT((gemm->add ? EPILOGUE_ADD : 0u) | wide(plan, gemm)),
			  [GEMM_SCALE] = FLOAT(1), [GEMM_THRESHOLD] = UINT(0u), [GEMM_LAYER] = UINT(0u),
			  [GEMM_STEP] = AT(STEP), [GEMM_FIRST_ROW] = AT(FIRST_ROW),
			  [GEMM_KEY_LOW] = UINT((uint32_t)seed),
			  [GEMM_KEY_HIGH] = UINT((uint32_t)(seed >> 32))),
	};

	if (gemm->add)
		launch.argument[GEMM_C].kind = ARGUMENT_INOUT;
	return launch;
}

static bool is_packed(const struct plan *plan, const struct gemm *gemm)
{
	const uint64_t m = whole(plan, gemm, gemm->m), k = whole(plan, gemm, gemm->k);

	if (gemm->b_transposed)
		return true;
	return m >= PACKED_ROWS_MIN && (m * k >= PACKED_NUMBERS || k * gemm->n >= PACKED_NUMBERS);
}

/* Returns how many of `m` rows a group computes, at most `most`, so that there are enough groups for all
 * cores and all have about the same size. Each row has groups for `panels` parts of its columns. */
static uint64_t group_rows(const struct gemm_tile *tile, uint64_t m, uint64_t panels, uint64_t most)
{
	const uint64_t for_cores = divide_up(PACKED_GROUPS, panels), for_cache = divide_up(m, most);
	const uint64_t groups = for_cores > for_cache ? for_cores : for_cache;
	const uint64_t rows = round_up(divide_up(m, groups), tile->rows);

	return rows > 4 * tile->rows ? rows : 4 * tile->rows;
}

/* Appends the launch that copies a transposed A from [k, m] to [m, k]; returns the copy. */
static uint32_t emit_transposed(struct plan *plan, const struct gemm *gemm)
{
	const uint64_t times = per_row(gemm);
	const struct tensor shape = { .dtype = plan->graph->storage,
				      .rank = 1,
				      .shape = { gemm->m * whole(plan, gemm, gemm->k) } };
	const uint32_t transposed = plan_work(plan, gemm->node, "transposed", &shape);

	plan_emit(plan,
		  &(struct launch){
			  .kernel = "gemm_transpose",
			  .groups = { { .fixed = gemm->k,
					.per_row = gemm->k == GEMM_ROWS ? times : 0,
					.tile = TRANSPOSE_TILE },
				      { .fixed = gemm->m, .tile = TRANSPOSE_TILE } },
			  ARGUMENTS(IN(gemm->a), OUT(transposed), size_of(gemm->k, times), INT(gemm->m)),
		  });
	return transposed;
}

/* Returns a launch whose groups compute rows of C, at most `most`, in `columns` columns. */
static struct launch grouped_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel,
				    uint64_t columns, uint64_t most)
{
	const struct gemm_tile *tile = gemm_cpu_tile(gemm->n);
	struct launch launch = tile_launch(plan, gemm, kernel, tile->rows, tile->columns);

	launch.groups[0].tile =
		group_rows(tile, whole(plan, gemm, gemm->m), divide_up(gemm->n, columns), most);
	launch.groups[1].tile = columns;
	launch.argument[GEMM_GROUP_ROWS] = (struct argument)INT(launch.groups[0].tile);
	return launch;
}

/* Returns a launch of a kernel that packs B. */
static struct launch packed_launch(const struct plan *plan, const struct gemm *gemm, const char *kernel,
				   uint64_t most)
{
	return grouped_launch(plan, gemm, kernel, PANELS * gemm_cpu_tile(gemm->n)->columns, most);
}

struct launch gemm_conv_launch(const struct plan *plan, const struct gemm *gemm)
{
	return packed_launch(plan, gemm, gemm_cpu_tile(gemm->n)->conv, PACKED_ROWS_MAX);
}

struct launch gemm_winograd_launch(const struct plan *plan, const struct gemm *gemm, uint64_t quads)
{
	const struct gemm_tile *tile = gemm_cpu_tile(gemm->n);
	struct gemm rows = *gemm;
	struct launch launch;

	rows.per_row = quads;
	launch = grouped_launch(plan, &rows, tile->winograd, tile->columns, QUAD_ROWS);
	launch.argument[GEMM_M] = (struct argument)ROWS_TIMES(gemm->per_row);
	return launch;
}

static void emit_packed(struct plan *plan, const struct gemm *gemm)
{
	const uint64_t most =
		whole(plan, gemm, gemm->k) <= PACKED_TERMS_AT_ONCE ? PACKED_ROWS_AT_ONCE : PACKED_ROWS_MAX;
	struct gemm plain = *gemm;
	struct launch launch;

	if (gemm->a_transposed) {
		plain.a = emit_transposed(plan, gemm);
		plain.a_transposed = false;
	}
	launch = packed_launch(plan, &plain, gemm_cpu_tile(gemm->n)->packed, most);
	plan_emit(plan, &launch);
}

/* ---- Devices that are not CPUs ---- */

/* Most chunks of a sum. */
#define CHUNKS_MAX 64u
/* Rows and columns that a group of gemm_sum computes. */
#define SUM_ROWS    4u
#define SUM_COLUMNS 64u

/* Appends the launch that adds the chunks, float32 [chunks, m, n], and has the epilogue. */
static void emit_chunks_sum(struct plan *plan, const struct gemm *gemm, uint32_t partials, uint64_t chunks)
{
	struct launch launch = tile_launch(plan, gemm, "gemm_sum", SUM_ROWS, SUM_COLUMNS);

	launch.argument[GEMM_A] = (struct argument)IN(partials);
	launch.argument[GEMM_GROUP_ROWS] = (struct argument)INT(chunks);
	plan_emit(plan, &launch);
}

/* Returns the best use of tiles, with sums in at most `most` chunks. */
static struct tile_use use_of(const struct plan *plan, const struct gemm *gemm, enum tile_kernel kernel,
			      uint64_t terms, uint64_t most, bool always_sums)
{
	const uint64_t m = whole(plan, gemm, gemm->m), chunks = TILE_PARTIALS_MAX / (m * gemm->n);

	return tiles_choose(m, gemm->n, terms, kernel, most < chunks ? most : chunks, always_sums);
}

static struct launch tiles_launch(const struct plan *plan, const struct gemm *gemm, enum tile_kernel kernel,
				  const struct tile_use *use)
{
	struct launch launch =
		tile_launch(plan, gemm, use->tile->kernel[kernel], use->tile->rows, use->tile->columns);

	launch.argument[GEMM_GROUP_ROWS] = (struct argument)INT(use->length);
	return launch;
}

/* Appends the launch, changed so that it computes the chunks; returns their tensor, "<node>/<name>". */
static uint32_t emit_chunks(struct plan *plan, const struct gemm *gemm, struct launch launch,
			    const struct tile_use *use, const char *name)
{
	const struct tensor all = { .rank = 1,
				    .shape = { use->count * whole(plan, gemm, gemm->m) * gemm->n } };
	const uint32_t partials = plan_work(plan, gemm->node, name, &all);

	launch.groups[1] = (struct extent){ .fixed = use->count * divide_up(gemm->n, use->tile->columns) };
	launch.argument[GEMM_C] = (struct argument)OUT(partials);
	launch.argument[GEMM_EPILOGUE] = (struct argument)UINT(EPILOGUE_WIDE);
	plan_emit(plan, &launch);
	return partials;
}

static void emit_tiles(struct plan *plan, const struct gemm *gemm, enum tile_kernel kernel, uint64_t terms,
		       const struct argument *window, const char *name)
{
	const struct tile_use use = use_of(plan, gemm, kernel, terms, CHUNKS_MAX, false);
	struct launch launch = tiles_launch(plan, gemm, kernel, &use);

	if (window)
		launch.argument[launch.arguments++] = *window;
	if (use.count > 1)
		emit_chunks_sum(plan, gemm, emit_chunks(plan, gemm, launch, &use, name), use.count);
	else
		plan_emit(plan, &launch);
}

void gemm_emit_conv(struct plan *plan, const struct gemm *gemm, enum tile_kernel kernel, uint64_t taps,
		    uint32_t window)
{
	char name[sizeof("partials_") + 10];
	const struct argument argument = IN(window);

	(void)snprintf(name, sizeof(name), "partials_%" PRIu32, window);
	emit_tiles(plan, gemm, kernel, taps * gemm->k, &argument, name);
}

/* Returns whether the numbers of 16 bytes of A and of B are always in one row: tensor cores need that. */
static bool has_chunks(const struct plan *plan, const struct gemm *gemm)
{
	const uint64_t k = whole(plan, gemm, gemm->k), chunk = 16 / dtype_bytes(plan->graph->storage);
	const uint64_t of_a = gemm->a_transposed ? gemm->m : k, of_b = gemm->b_transposed ? k : gemm->n;

	return of_a % chunk == 0 && of_b % chunk == 0;
}

/* How devices that are not CPUs compute a product: with which kernel, and the name of its chunks. */
struct product {
	enum tile_kernel kernel;
	const char *chunks;
};

static struct product product_of(const struct plan *plan, const struct gemm *gemm)
{
	static const char *const names[] = {
		[TILE_NN] = "partials_nn", [TILE_TN] = "partials_tn", [TILE_NT] = "partials_nt"
	};
	const enum tile_kernel form = gemm->a_transposed ? TILE_TN : gemm->b_transposed ? TILE_NT : TILE_NN;
	static const enum tile_kernel first[] = { [TENSOR_CORES_NONE] = TILE_NN,
						  [TENSOR_CORES_WARPS] = TILE_MMA_NN,
						  [TENSOR_CORES_WARP_GROUPS] = TILE_WGMMA_NN };
	const enum tensor_cores cores = has_chunks(plan, gemm) ? plan->tensor_cores : TENSOR_CORES_NONE;

	return (struct product){ first[cores] + form, names[form] };
}

static void emit_product(struct plan *plan, const struct gemm *gemm)
{
	const struct product product = product_of(plan, gemm);

	emit_tiles(plan, gemm, product.kernel, whole(plan, gemm, gemm->k), NULL, product.chunks);
}

uint64_t gemm_emit_chunks(struct plan *plan, const struct gemm *gemm, uint64_t most, uint32_t *ret_partials)
{
	const struct product product = product_of(plan, gemm);
	const struct tile_use use =
		use_of(plan, gemm, product.kernel, whole(plan, gemm, gemm->k), most, true);

	*ret_partials =
		emit_chunks(plan, gemm, tiles_launch(plan, gemm, product.kernel, &use), &use, product.chunks);
	return use.count;
}

void gemm_emit(struct plan *plan, const struct gemm *gemm)
{
	const struct gemm_tile *tile = gemm_cpu_tile(gemm->n);
	const struct launch launch = tile_launch(plan, gemm, tile->gemm, tile->rows, tile->columns);

	if (!plan->cpu)
		emit_product(plan, gemm);
	else if (is_packed(plan, gemm))
		emit_packed(plan, gemm);
	else
		plan_emit(plan, &launch);
}

static bool is_of(const struct launch *launch, const struct gemm_tile *tile)
{
	return !strcmp(launch->kernel, tile->gemm) || !strcmp(launch->kernel, tile->packed) ||
	       (tile->conv && !strcmp(launch->kernel, tile->conv)) ||
	       (tile->winograd && !strcmp(launch->kernel, tile->winograd));
}

bool gemm_is(const struct launch *launch)
{
	for (size_t i = 0; i < sizeof(cpu_tiles) / sizeof(*cpu_tiles); i++)
		if (is_of(launch, &cpu_tiles[i]))
			return true;
	return !strcmp(launch->kernel, "gemm_sum") || tiles_have(launch->kernel);
}
