/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring_shared.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/* seq_cst throughout, pairs with ring_bell_wait(): the caller's store of head, tail or request comes before
 * this load in the one order of all seq_cst operations, the sleeper's flag before its re-check; so one of the
 * two sees the other. */
void ring_bell_ring(struct ring_bell *bell)
{
	if (atomic_load(&bell->waits) == 0)
		return;
	(void)atomic_fetch_add(&bell->rings, 1);
	(void)syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool unchanged(const _Atomic uint64_t *value, uint64_t seen, const _Atomic uint64_t *value2,
		      uint64_t seen2)
{
	return atomic_load(value) == seen && (!value2 || atomic_load(value2) == seen2);
}

int ring_bell_wait(struct ring_bell *bell, const _Atomic uint64_t *value, uint64_t seen,
		   const _Atomic uint64_t *value2, uint64_t seen2, uint32_t timeout_ms)
{
	uint64_t start = now_ns(), limit_ms = timeout_ms < RING_WAIT_MAX_MS ? timeout_ms : RING_WAIT_MAX_MS;
	struct timespec timeout = { .tv_sec = (time_t)(limit_ms / 1000),
				    .tv_nsec = (long)(limit_ms % 1000) * 1000000 };
	uint32_t rings;
	int r = 0;

	while (now_ns() - start < RING_SPIN_US * 1000u) {
		if (!unchanged(value, seen, value2, seen2))
			return 0;
		relax();
	}
	rings = atomic_load(&bell->rings);
	atomic_store(&bell->waits, 1);
	if (unchanged(value, seen, value2, seen2) &&
	    syscall(SYS_futex, &bell->rings, FUTEX_WAIT, rings, &timeout, NULL, 0) < 0 && errno == ETIMEDOUT)
		r = -ETIMEDOUT;
	atomic_store(&bell->waits, 0);
	return r;
}
