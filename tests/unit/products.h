/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of matrix products: the forms of a product, the tiles of GPUs, and the product of a
 * form. Include it after cmocka.h. */
#pragma once

#include "tests/unit/device.h"

#include "model/plan/gemm.h"
#include "model/plan/tiles.h"

enum form { NN, TN, NT, FORMS };

/* A size of tile of a GPU. */
struct tile_size {
	const char *kernel[FORMS];
	uint64_t rows, columns;
};

/* The entry of a size whose kernels have these first letters. */
#define TILE_SIZE(letters, size, tile_rows, tile_columns) \
	{ { letters "_nn_" #size, letters "_tn_" #size, letters "_nt_" #size }, tile_rows, tile_columns },

static struct config config;

/* Returns so many numbers of the seed. The caller frees them. */
UNUSED_OK static float *make_floats(uint64_t count, uint64_t seed)
{
	float *out = malloc((count + 1) * sizeof(*out));

	assert_non_null(out);
	for (uint64_t i = 0; i < count; i++)
		out[i] = (float)noise(&seed);
	return out;
}

UNUSED_OK static int open_products(enum dtype storage)
{
	open_kernels_of(storage);
	config = model_config(NULL, 0, 1, 1, 1);
	return 0;
}

/* Returns the product of A, B and C. The rows of the batch are M, or with a transposed A the terms. */
static struct gemm product_of(enum form form, uint64_t m, uint64_t n, uint64_t k,
			      const uint32_t tensor[static 3])
{
	static const struct node node = { .name = "product" };

	return (struct gemm){ .a = tensor[0],
			      .b = tensor[1],
			      .c = tensor[2],
			      .m = form == TN ? m : GEMM_ROWS,
			      .n = n,
			      .k = form == TN ? GEMM_ROWS : k,
			      .a_transposed = form == TN,
			      .b_transposed = form == NT,
			      .node = &node };
}

/* Makes the launch use this size of tile, without chunks. */
static void use_tile(struct launch *launch, const struct tile_size *tile, enum form form, uint64_t k)
{
	launch->kernel = tile->kernel[form];
	launch->groups[0].tile = tile->rows;
	launch->groups[1].tile = tile->columns;
	launch->argument[GEMM_GROUP_ROWS] = (struct argument)INT(k);
}
