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
#define CHAIN_ALIGN     512 /* unit, in bytes, of the offset of a tensor in an arena */
#define CHAIN_BATCH     6   /* upper bound of the tensors of the batch that a chain uses */
#define CHAIN_LINE      16  /* 32-bit numbers in a cache line */

/* Work-groups in one dimension, as struct extent of plan.h. */
struct chain_extent {
	chain_u64 fixed, per_row, tile, extra;
};

/* A launch. Each argument is a pair (x, y). For a tensor, x is the index of a base address in chain.cl and y
 * the offset from it. Otherwise x is the index of a value in chain.cl and y its factor; value 0 is 1, so y
 * then is a constant. */
struct chain_phase {
	chain_u32 number, on_update; /* `number` identifies the kernel: see plan/chain.c */
	struct chain_extent groups[2];
	chain_argument argument[CHAIN_ARGUMENTS];
};

/* Each counter has a cache line of its own, because several cores write the counters at the same time. */
struct chain {
	chain_u32 claimed, apart_claimed[CHAIN_LINE - 1]; /* groups claimed so far, over all phases */
	chain_u32 ended, apart_ended[CHAIN_LINE - 1];     /* groups that have ended, over all phases */
	chain_u32 left, apart_left[CHAIN_LINE - 1];       /* work-groups that have left the chain */
	chain_u32 phases, apart[CHAIN_LINE - 1];
	struct chain_phase phase[];
};
