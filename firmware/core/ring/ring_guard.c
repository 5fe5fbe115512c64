/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protects a process against a peer that cuts the file short. An access to a mapping beyond the end of its
 * file raises SIGBUS, and a file on hugetlbfs that is opened by path cannot be sealed against it. The handler
 * maps zero pages over the whole ring and marks the ring as dead. Then the access continues and reads zeros,
 * and the next call on the ring returns -EUCLEAN.
 *
 * The table is a static array, so that the handler never reads freed memory. The handler runs in the thread
 * that accesses the ring; this ring's entry was written before the access, and is dropped after it.
 */
#include "core/ring/ring_shared.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static struct {
	_Atomic uintptr_t start; /* first address of the guarded memory; 0: the entry is free */
	_Atomic uint64_t bytes;
	_Atomic uint32_t dead;
} guard[RING_GUARDS_MAX];

static struct sigaction before; /* the handler that was installed before ours. Never our own: a SIGBUS of
				   other memory would call it forever. */

static bool catch (uintptr_t at)
{
	for (size_t i = 0; i < RING_GUARDS_MAX; i++) {
		/* acquire, pairs with the release in ring_guard_add(): `bytes` belongs to this start. */
		uintptr_t start = atomic_load_explicit(&guard[i].start, memory_order_acquire);
		uint64_t bytes = atomic_load_explicit(&guard[i].bytes, memory_order_relaxed);

		if (start == 0 || at < start || at - start >= bytes)
			continue;
		/* G1: release, pairs with G2 in ring_guard_dead(): a thread that reads the zeros also sees
		 * `dead`. */
		atomic_store_explicit(&guard[i].dead, 1, memory_order_release);
		return mmap((void *)start, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
	}
	return false;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!catch ((uintptr_t)info->si_addr)) {
		if (before.sa_flags & SA_SIGINFO)
			before.sa_sigaction(number, info, context);
		else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
			before.sa_handler(number);
		else
			(void)signal(number, SIG_DFL); /* restore the default: the access is repeated, raises
							  SIGBUS again, and ends the process */
	}
	errno = saved;
}

/* Installs our handler, also where other code has replaced it since the last ring was opened. The caller
 * holds the lock of the table. */
static void install(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK }, now;

	if (sigaction(SIGBUS, NULL, &now) < 0 ||
	    ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigbus))
		return;
	before = now;
	(void)sigaction(SIGBUS, &action, NULL);
}

int ring_guard_add(void *memory, uint64_t bytes)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int found = RING_NO_GUARD;

	(void)pthread_mutex_lock(&lock);
	install();
	for (size_t i = 0; i < RING_GUARDS_MAX && found == RING_NO_GUARD; i++) {
		/* acquire, pairs with the release in ring_guard_drop(): the entry's last owner is done. */
		if (atomic_load_explicit(&guard[i].start, memory_order_acquire) != 0)
			continue;
		atomic_store_explicit(&guard[i].dead, 0, memory_order_relaxed);
		atomic_store_explicit(&guard[i].bytes, bytes, memory_order_relaxed);
		/* release, pairs with the acquire in catch(). */
		atomic_store_explicit(&guard[i].start, (uintptr_t)memory, memory_order_release);
		found = (int)i;
	}
	(void)pthread_mutex_unlock(&lock);
	return found;
}

void ring_guard_drop(int index)
{
	/* release, pairs with the acquire in ring_guard_add(). */
	if (index != RING_NO_GUARD)
		atomic_store_explicit(&guard[index].start, 0, memory_order_release);
}

bool ring_guard_dead(int index)
{
	/* G2: acquire, pairs with G1 in catch(). */
	return index != RING_NO_GUARD && atomic_load_explicit(&guard[index].dead, memory_order_acquire) != 0;
}
