/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain in the device's memory: plan/chain.c writes it, kernels/chain.cl reads it and counts in it. The
 * sources of both include this file.
 */
#ifdef __OPENCL_VERSION__
typedef uint chain_u32;
typedef ulong chain_u64;
typedef uint2 chain_argument;
#else
#pragma once

#include <stdint.h>

typedef uint32_t chain_u32;
typedef uint64_t chain_u64;
typedef struct {
	uint32_t x, y;
} chain_argument;
#endif

#define CHAIN_ARGUMENTS 24  /* most arguments of a phase */
#define CHAIN_ALIGN     512 /* bytes: offsets of tensors in an arena are counted in these */
#define CHAIN_BATCH     6   /* tensors of the batch that one chain can name */
#define CHAIN_LINE      16  /* numbers of a cache line */

/* Work-groups in one dimension, as struct extent of plan.h. */
struct chain_extent {
	chain_u64 fixed, per_row, tile, extra;
};

/* A launch. Each argument is a pair: for a tensor, the number of its base and its offset there; else, the
 * number of a value and what the value is multiplied by (value 0 is 1: a constant). */
struct chain_phase {
	chain_u32 number, on_update; /* `number`: which kernel, see plan/chain.c */
	struct chain_extent groups[2];
	chain_argument argument[CHAIN_ARGUMENTS];
};

/* Each counter has a cache line of its own: two cores write it. */
struct chain {
	chain_u32 claimed,
		apart_claimed[CHAIN_LINE - 1];        /* groups of all phases that a work-group has or had */
	chain_u32 ended, apart_ended[CHAIN_LINE - 1]; /* groups that have ended */
	chain_u32 left, apart_left[CHAIN_LINE - 1];   /* work-groups that found no more */
	chain_u32 phases, apart[CHAIN_LINE - 1];
	struct chain_phase phase[];
};
