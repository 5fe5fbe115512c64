/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time that a slot takes from one process to the other: ring awake|woken [ROUNDS]
 *
 * awake  the writer publishes every 2 to 10 us, so the reader spins while it waits; the bench counts the
 * system calls of both sides woken  the writer publishes every 100 to 300 us, so the reader sleeps; in the
 * same rounds, the bench also measures a bare futex word between the same processes
 *
 * Each side is pinned to a core of its own and, where allowed, has real-time priority, so that other work is
 * not measured. Order and content of every slot are checked.
 */
#include "core/ring/ring.h"
#include "core/base/cleanup.h"
#include "tests/bench/measure.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AWAKE_SLOTS 20000u
#define WOKEN_SLOTS 1500u
#define SLOTS_MAX   AWAKE_SLOTS
#define ROUNDS_MAX  101u

/* The memory that both processes write. */
static struct {
	_Atomic uint64_t calls;
	_Atomic uint32_t word; /* the bare futex */
	double published_us;   /* sent with the word: the time at which it was set */
	double latency_us[SLOTS_MAX];
} * shared;

static const struct ring_geometry geometry = {
	.slots = 16,
	.columns = 3,
	.column = { { "sentence", RING_FLOAT32, 2048, 128 * 2048 },
		    { "label", RING_INT64, 16, 128 * 16 },
		    { "valid", RING_UINT8, 1, 128 } },
};

/* Replaces libc's syscall(), to count the system calls of the ring. */
long syscall(long number, ...)
{
	static long (*libc_syscall)(long, ...);
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (!libc_syscall)
		*(void **)&libc_syscall = dlsym(RTLD_NEXT, "syscall");
	(void)atomic_fetch_add_explicit(&shared->calls, 1, memory_order_relaxed);
	return libc_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void take_core(size_t cpu)
{
	const struct sched_param priority = { .sched_priority = 10 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	(void)sched_setscheduler(0, SCHED_FIFO, &priority);
}

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "ring: %s\n", err->text);
	exit(1);
}

/* Returns a pseudo-random time of 1/3 to 5/3 of `us`. */
static double around(double us)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return us * (1.0 / 3 + (double)(state % 1000) / 750);
}

static void spin(double us)
{
	const double end = now_us() + us;

	while (now_us() < end)
		;
}

static void doze(double us)
{
	struct timespec nap = { .tv_nsec = (long)(us * 1e3) };

	(void)nanosleep(&nap, NULL);
}

/* ---- The ring ---- */

static void read_ring(const char *path, uint64_t slots)
{
	CLEANUP(ring_closep) struct ring *ring = NULL;
	const struct cursor start = { .version = CURSOR_VERSION };
	struct error err = { 0 };

	must(ring_open(path, &ring, &err), &err);
	ring_attach(ring, &start);
	for (uint64_t i = 0; i < slots; i++) {
		const struct ring_slot *slot;
		double published_us;
		int r;

		while ((r = ring_next(ring, &slot, &err)) == -EAGAIN)
			(void)ring_reader_wait(ring, 1000);
		must(r, &err);
		memcpy(&published_us, ring_column_data(ring, slot, 0), sizeof(published_us));
		shared->latency_us[i] = now_us() - published_us;
		if (slot->batch != i || slot->rows != 1)
			_exit(2);
		ring_release(ring, slot);
	}
}

static void wait_for_request(struct ring *ring)
{
	struct cursor from;
	bool closed;
	uint64_t generation;

	while ((generation = ring_request(ring, &from, &closed)) == 0)
		(void)ring_writer_wait(ring, 1000);
	ring_begin(ring, generation);
}

static void write_ring(struct ring *ring, uint64_t slots, void (*pause)(double us), double us)
{
	wait_for_request(ring);
	for (uint64_t i = 0; i < slots; i++) {
		struct error err = { 0 };
		struct ring_slot *slot;
		double published_us;
		int r;

		while ((r = ring_claim(ring, &slot)) == -EAGAIN)
			(void)ring_writer_wait(ring, 1000);
		must(r < 0 ? error_set(&err, r, "the reader's tail is wild") : 0, &err);
		slot->kind = RING_DATA;
		slot->rows = slot->valid_rows = 1;
		slot->batch = i;
		slot->cursor.version = CURSOR_VERSION;
		pause(around(us));
		published_us = now_us();
		memcpy(ring_column_data(ring, slot, 0), &published_us, sizeof(published_us));
		ring_commit(ring);
	}
}

/* ---- A bare futex ---- */

static void read_futex(uint64_t wakes)
{
	for (uint32_t i = 0; i < wakes; i++) {
		while (atomic_load(&shared->word) == i)
			(void)syscall(SYS_futex, &shared->word, FUTEX_WAIT, i, NULL, NULL, 0);
		shared->latency_us[i] = now_us() - shared->published_us;
	}
}

static void write_futex(uint64_t wakes, double us)
{
	for (uint64_t i = 0; i < wakes; i++) {
		doze(around(us));
		shared->published_us = now_us();
		(void)atomic_fetch_add(&shared->word, 1);
		(void)syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

/* ---- Rounds ---- */

static pid_t reader(const char *path, uint64_t slots)
{
	const pid_t child = fork();

	if (child != 0)
		return child;
	take_core(1);
	if (path)
		read_ring(path, slots);
	else
		read_futex(slots);
	_exit(0);
}

static void finish(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) == child && status == 0)
		return;
	(void)fprintf(stderr, "ring: the reader saw other slots than those written\n");
	exit(1);
}

/* Writes the latencies of the round to `shared`. */
static void round_ring(const char *path, uint64_t slots, void (*pause)(double us), double us)
{
	CLEANUP(ring_closep) struct ring *ring = NULL;
	struct error err = { 0 };
	pid_t child;

	must(ring_create(path, &geometry, 0, &ring, &err), &err);
	atomic_store(&shared->calls, 0);
	child = reader(path, slots);
	write_ring(ring, slots, pause, us);
	finish(child);
	(void)unlink(path);
}

static void round_futex(uint64_t wakes, double us)
{
	pid_t child;

	atomic_store(&shared->word, 0);
	child = reader(NULL, wakes);
	write_futex(wakes, us);
	finish(child);
}

static void awake(const char *path, uint32_t rounds)
{
	double p50[ROUNDS_MAX], p99[ROUNDS_MAX], calls[ROUNDS_MAX];

	for (uint32_t i = 0; i < rounds; i++) {
		round_ring(path, AWAKE_SLOTS, spin, 6);
		p50[i] = quantile(shared->latency_us, AWAKE_SLOTS, 0.5);
		p99[i] = quantile(shared->latency_us, AWAKE_SLOTS, 0.99);
		calls[i] = (double)atomic_load(&shared->calls) * 100 / AWAKE_SLOTS;
	}
	printf("{\"name\":\"ring-awake\",\"case\":\"p50\",\"value\":%.3f,\"unit\":\"us\"}\n",
	       median(p50, rounds));
	printf("{\"name\":\"ring-awake\",\"case\":\"p99\",\"value\":%.3f,\"unit\":\"us\"}\n",
	       median(p99, rounds));
	printf("{\"name\":\"ring-awake\",\"case\":\"system calls\",\"value\":%.2f,\"unit\":\"/100 slots\"}\n",
	       median(calls, rounds));
}

static void print_woken(const char *name, double value, double peer)
{
	printf("{\"name\":\"ring-woken\",\"case\":\"%s\",\"value\":%.2f,\"unit\":\"us\",\"peer\":\"bare "
	       "futex\","
	       "\"peer_value\":%.2f,\"ratio\":%.3f}\n",
	       name, value, peer, peer / value);
}

static void woken(const char *path, uint32_t rounds)
{
	double p50[ROUNDS_MAX], p99[ROUNDS_MAX], bare50[ROUNDS_MAX], bare99[ROUNDS_MAX];

	for (uint32_t i = 0; i < rounds; i++) {
		round_ring(path, WOKEN_SLOTS, doze, 180);
		p50[i] = quantile(shared->latency_us, WOKEN_SLOTS, 0.5);
		p99[i] = quantile(shared->latency_us, WOKEN_SLOTS, 0.99);
		round_futex(WOKEN_SLOTS, 180);
		bare50[i] = quantile(shared->latency_us, WOKEN_SLOTS, 0.5);
		bare99[i] = quantile(shared->latency_us, WOKEN_SLOTS, 0.99);
	}
	print_woken("p50", median(p50, rounds), median(bare50, rounds));
	print_woken("p99", median(p99, rounds), median(bare99, rounds));
}

int main(int argc, char **argv)
{
	const uint32_t asked = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 9;
	const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS_MAX ? ROUNDS_MAX : asked;
	char path[] = "/dev/shm/kiln-ring-XXXXXX";

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (argc < 2 || shared == MAP_FAILED || close(mkstemp(path)) < 0)
		return 2;
	take_core(0);
	if (strcmp(argv[1], "awake") == 0)
		awake(path, rounds);
	else
		woken(path, rounds);
	(void)unlink(path);
	return 0;
}
