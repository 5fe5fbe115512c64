/* SPDX-License-Identifier: Apache-2.0 */
#ifdef CHAINED
/*
 * Launches one after the other in one launch of a CPU device, see chain.h: the phases of a chain, whose groups a few
 * work-groups take until none is left. Bits are those of the launches for themselves.
 *
 * CHAIN_CASES, before this file: "case KERNEL: name(x, y, TENSOR(0), WHOLE(1), REAL(2), ...); break;" for each kernel.
 * Work-group: one work-item, groups (as many as run at a time, 1); fewer may run, or one.
 *
 * A phase starts when all groups of those before have ended. Work-groups take groups in order, and of a phase half of
 * what is left divided by the work-groups at a time, so that they end together. Who holds groups waits for nobody, and
 * takes others when they have ended; so a work-group that has waited long, because whoever it waits for has lost its core to
 * another program, may leave the rest to it. A chain ends, in whatever order and on however many threads its work-groups run.
 */

#include "chain_phases.h"

/* Some 0.2 ms, a few times what a phase's last group takes: a launch of long ones is a chain for itself. */
#define CHAIN_POLLS     10000

/* Groups start ... end - 1 of the chain are this phase's, `width` a row. */
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

/* Whether the groups before `start` have ended, within CHAIN_POLLS looks. */
bool chain_ended(__global struct chain *chain, uint start)
{
	for (uint i = 0; i < CHAIN_POLLS; i++) {
		/* acquire, pairs with the release where groups end: what they wrote is seen. */
		if (__atomic_load_n(&chain->ended, __ATOMIC_ACQUIRE) >= start)
			return true;
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
	return false;
}

/* The next groups for whoever calls, `*first` and how many, of the phase in `at`; 0: none is left, or has been for long. */
uint chain_take(__global struct chain *chain, struct chain_at *at, uint sharers, uint rows, uint update, uint *first)
{
	uint taken = __atomic_load_n(&chain->taken, __ATOMIC_RELAXED), count;

	do {
		while (taken >= at->end) {
			if (++at->phase >= chain->phases)
				return 0;
			chain_measure(chain, at, rows, update);
		}
		if (!chain_ended(chain, at->start))
			return 0;
		count = max(1u, (at->end - taken) / (2 * sharers));
	} while (!__atomic_compare_exchange_n(&chain->taken, &taken, taken + count, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*first = taken;
	return count;
}

/* The last leaves everything as it was, for the next launch. */
void chain_leave(__global struct chain *chain, uint sharers)
{
	if (__atomic_add_fetch(&chain->left, 1, __ATOMIC_ACQ_REL) < sharers)
		return;
	chain->taken = chain->ended = chain->left = 0;
}

#define TENSOR(i) ((__global void *)(base[a[i].x] + (size_t)a[i].y * CHAIN_ALIGN))
#define WHOLE(i)  (value[a[i].x] * a[i].y)
#define REAL(i)   as_float(WHOLE(i))

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void chain(
	__global struct chain *chain, __global char *state, __global char *gradient, __global char *work,
	__global char *b0, __global char *b1, __global char *b2, __global char *b3, __global char *b4,
	__global char *b5, uint rows, uint valid_rows, float row_weight, uint first_row, uint step, float rate,
	float decay, uint update, float average_momentum, uint average_replaces)
{
	__global char *const base[] = { 0, state, gradient, work, b0, b1, b2, b3, b4, b5 };
	const uint value[] = { 1, rows, valid_rows, as_uint(row_weight), first_row, step, as_uint(rate),
			       as_uint(decay), update, as_uint(average_momentum), average_replaces };
	const uint sharers = get_num_groups(0);
	struct chain_at at = { .phase = (uint)-1 };
	uint first, count;

	while ((count = chain_take(chain, &at, sharers, rows, update, &first))) {
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
