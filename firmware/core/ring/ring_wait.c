/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a side sleep, and wakes it. The sleeper sets its flag, then checks the value it waits for once more
 * (B2). The publisher stores the value, then checks the flag (B1). All four operations are seq_cst, so they
 * have one total order: either the publisher sees the flag and wakes the sleeper, or the sleeper sees the new
 * value and does not sleep. Fences would do the same, but the thread sanitizer does not understand them.
 * Where the publisher is killed before the wake-up, the sleeper sleeps until its time-out.
 */
#include "core/base/clock.h"
#include "core/ring/ring_shared.h"

#include <linux/futex.h>
#include <sys/syscall.h>

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

void ring_bell_ring(struct ring_bell *bell)
{
	/* B1: seq_cst, pairs with B2 in ring_bell_wait(). */
	if (atomic_load_explicit(&bell->waits, memory_order_seq_cst) != 0)
		ring_bell_wake(bell);
}

void ring_bell_wake(struct ring_bell *bell)
{
	/* seq_cst, pairs with the load of `rings` in ring_bell_wait(): for a sleeper that loaded the old
	 * number FUTEX_WAIT returns at once. */
	(void)atomic_fetch_add_explicit(&bell->rings, 1, memory_order_seq_cst);
	(void)syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Returns true where the value is still `seen`. The load is seq_cst, pairs with H1, T1 and Q1, the stores
 * that a bell announces. */
static bool unchanged(const _Atomic uint64_t *value, uint64_t seen, const _Atomic uint64_t *value2,
		      uint64_t seen2)
{
	return atomic_load_explicit(value, memory_order_seq_cst) == seen &&
	       (!value2 || atomic_load_explicit(value2, memory_order_seq_cst) == seen2);
}

int ring_bell_wait(struct ring_bell *bell, const _Atomic uint64_t *value, uint64_t seen,
		   const _Atomic uint64_t *value2, uint64_t seen2, uint32_t timeout_ms)
{
	uint64_t start = clock_ns(), limit_ms = timeout_ms < RING_WAIT_MAX_MS ? timeout_ms : RING_WAIT_MAX_MS;
	struct timespec timeout = { .tv_sec = (time_t)(limit_ms / 1000),
				    .tv_nsec = (long)(limit_ms % 1000) * 1000000 };
	uint32_t rings;
	int r = 0;

	while (clock_ns() - start < RING_SPIN_US * 1000u) {
		if (!unchanged(value, seen, value2, seen2))
			return 0;
		relax();
	}
	/* seq_cst, pairs with the addition in ring_bell_wake(). */
	rings = atomic_load_explicit(&bell->rings, memory_order_seq_cst);
	/* B2: seq_cst, pairs with B1 in ring_bell_ring(). */
	atomic_store_explicit(&bell->waits, 1, memory_order_seq_cst);
	if (unchanged(value, seen, value2, seen2) &&
	    syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &timeout, NULL, 0) < 0 && errno == ETIMEDOUT)
		r = -ETIMEDOUT;
	/* relaxed: a publisher that still sees the flag only makes a needless system call. */
	atomic_store_explicit(&bell->waits, 0, memory_order_relaxed);
	return r;
}
