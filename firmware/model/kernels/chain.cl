/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CHAINED
/*
 * Runs the launches of a chain one after the other, as phases of one launch on a CPU device: see plan/chain.h for why.
 * The results have the same bits as with single launches.
 *
 * CHAIN_CASES, defined before this file: "case KERNEL: name(x, y, TENSOR(0), WHOLE(1), REAL(2), ...); break;" for each
 * kernel. Work-group: one work-item; groups (as many as the device runs at a time, 1). If fewer run, even one, the
 * chain ends nevertheless.
 *
 * A phase starts when every group of the phases before has ended. Work-groups claim groups in order. Each claim has
 * half of the groups that are left in the phase, divided by the number of work-groups, so that all work-groups end at
 * about the same time. A work-group never waits while it has claimed groups that it has not run; after them it claims
 * others. So a work-group that has waited long may leave: the work-group that it waits for has lost its core to another
 * program, and will do the rest. A chain ends in whatever order, and on however many threads, its work-groups run.
 */

#include "chain_phases.h"

/* How often a waiting work-group reads the counter before it leaves the chain: about 0.2 ms, a few times as long as the
 * last group of a phase takes. A launch with long groups is a chain of its own (plan/chain.c), so nobody waits for
 * them. */
#define CHAIN_POLLS     10000

/* Position in the chain: a phase, whose groups are start ... end - 1. A phase has rows of `width` groups. */
struct chain_at {
	uint phase, start, end, width;
};

ulong chain_groups(__global const struct chain_extent *extent, ulong rows)
{
	const ulong size = extent->fixed + rows * extent->per_row;

	return size ? (size + extent->tile - 1) / extent->tile + extent->extra : 1;
}

void chain_measure(__global const struct chain *chain, struct chain_at *at, uint rows, uint update)
{
	__global const struct chain_phase *phase = &chain->phase[at->phase];

	at->start = at->end;
	at->width = chain_groups(&phase->groups[0], rows);
	at->end += phase->on_update && !update ? 0 : at->width * (uint)chain_groups(&phase->groups[1], rows);
}

/* Waits until every group before `start` has ended, for at most CHAIN_POLLS reads of the counter. Returns whether they
 * have ended. */
bool chain_ended(__global struct chain *chain, uint start)
{
	for (uint i = 0; i < CHAIN_POLLS; i++) {
		/* acquire, pairs with the release at the end of chain(): what the ended groups wrote is visible. */
		if (__atomic_load_n(&chain->ended, __ATOMIC_ACQUIRE) >= start)
			return true;
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
	return false;
}

/* Claims the next groups: sets `at` to their phase and *first to the first one, and returns how many. Returns 0 if no
 * group is left, or if the phase before did not end while this call waited. */
uint chain_claim(__global struct chain *chain, struct chain_at *at, uint sharers, uint rows, uint update, uint *first)
{
	uint claimed = __atomic_load_n(&chain->claimed, __ATOMIC_RELAXED), count;

	do {
		while (claimed >= at->end) {
			if (++at->phase >= chain->phases)
				return 0;
			chain_measure(chain, at, rows, update);
		}
		if (!chain_ended(chain, at->start))
			return 0;
		count = max(1u, (at->end - claimed) / (2 * sharers));
	} while (!__atomic_compare_exchange_n(&chain->claimed, &claimed, claimed + count, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*first = claimed;
	return count;
}

/* Counts this work-group as gone; the last one resets the counters for the next launch. */
void chain_leave(__global struct chain *chain, uint sharers)
{
	if (__atomic_add_fetch(&chain->left, 1, __ATOMIC_ACQ_REL) < sharers)
		return;
	chain->claimed = chain->ended = chain->left = 0;
}

#define TENSOR(i) ((__global void *)(base[a[i].x] + (size_t)a[i].y * CHAIN_ALIGN))
#define WHOLE(i)  (value[a[i].x] * a[i].y)
#define REAL(i)   as_float(WHOLE(i))

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void chain(
	__global struct chain *chain, __global char *state, __global char *gradient, __global char *work,
	__global char *b0, __global char *b1, __global char *b2, __global char *b3, __global char *b4,
	__global char *b5, uint rows, uint valid_rows, float row_weight, uint first_row, uint step, float rate,
	float decay, uint update, float average_momentum, uint average_replaces, uint part)
{
	__global char *const base[] = { 0, state, gradient, work, b0, b1, b2, b3, b4, b5 };
	const uint value[] = { 1, rows, valid_rows, as_uint(row_weight), first_row, step, as_uint(rate),
			       as_uint(decay), update, as_uint(average_momentum), average_replaces, part };
	const uint sharers = get_num_groups(0);
	struct chain_at at = { .phase = (uint)-1 };
	uint first, count;

	while ((count = chain_claim(chain, &at, sharers, rows, update, &first))) {
		__global const struct chain_phase *phase = &chain->phase[at.phase];
		__global const chain_argument *a = phase->argument;
		uint x = (first - at.start) % at.width, y = (first - at.start) / at.width;

		for (uint i = 0; i < count; i++) {
			switch (phase->number) {
				CHAIN_CASES
			}
			if (++x == at.width)
				x = 0, y++;
		}
		/* release, pairs with chain_ended(). */
		__atomic_fetch_add(&chain->ended, count, __ATOMIC_RELEASE);
	}
	chain_leave(chain, sharers);
}
#endif
