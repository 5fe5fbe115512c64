/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of convolutions on GPUs: makes the last launches of a plan use a size of tile. Include
 * it after cmocka.h. */
#pragma once

#include "tests/reference.h"

#include "model/plan/gemm.h"
#include "model/plan/tiles.h"

struct conv_tile {
	const char *conv, *kernel;
	uint64_t rows, columns;
};

/* The last launch, a convolution with this number of columns. */
static void use_conv(struct harness *h, const struct conv_tile *tile, uint64_t columns)
{
	struct launch *launch = &h->plan.launch[h->plan.launches - 1];
	uint64_t chunks = 1;

	if (!strcmp(launch->kernel, "gemm_sum"))
		chunks = (uint64_t)launch--->argument[GEMM_GROUP_ROWS].i;
	assert_non_null(strstr(launch->kernel, "conv_"));
	launch->kernel = tile->conv;
	launch->groups[0].tile = tile->rows;
	launch->groups[1] =
		(struct extent){ .fixed = chunks * ((columns + tile->columns - 1) / tile->columns) };
}

/* The gradient of a kernel: the launch before the one that adds the chunks. */
static void use_kernel(struct harness *h, const struct conv_tile *tile, uint64_t rows, uint64_t positions)
{
	enum { ARGUMENT_CHUNK_POSITIONS = 4, ARGUMENT_TILES = 7 };
	struct launch *launch = &h->plan.launch[h->plan.launches - 2];
	const uint64_t tiles_of_chunk = (rows + tile->rows - 1) / tile->rows;
	const uint64_t length = (uint64_t)launch->argument[ARGUMENT_CHUNK_POSITIONS].i;

	assert_non_null(strstr(launch->kernel, "conv_kernel_"));
	launch->kernel = tile->kernel;
	launch->groups[0].fixed = (positions + length - 1) / length * tiles_of_chunk;
	launch->groups[1].tile = tile->columns;
	launch->argument[ARGUMENT_TILES] = (struct argument)INT(tiles_of_chunk);
}
