/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the ring's stores: a process killed after any instruction of a call leaves notes that its next
 * life can use. A child makes each call from the same ring, stepped one instruction at a time. It is killed
 * once after each instruction that changed the ring; then a new writer and a new reader go on from what it
 * left.
 */
#include "tests/unit/ring_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define STEPS_MAX  100000u /* instructions of a call: far more than any call needs */
#define STORES_MAX 1000u
#define NO_PTRACE  99
#define ELSEWHERE  40u /* a batch far away from the others */
#define NOWHERE    UINT64_MAX
#define FILE_BYTES \
	(RING_CONTROL_BYTES + SLOTS * (size_t)3 * RING_COLUMN_ALIGN) /* the part of the file in use */

/* A ring in which `published` batches were published, `released` of them released, and then batch `requested`
 * was asked for without an answer. `ready` and `call` run in the child; only the call is stepped. */
struct killed_case {
	uint64_t published, released, requested;
	void (*ready)(const struct killed_case *);
	void (*call)(void);
	void (*check)(const struct killed_case *);
};

static struct ring_control *shared; /* the file, mapped without a lock */
static const uint8_t *bytes;        /* the file's bytes, at the same address */
static uint8_t before[FILE_BYTES], after[FILE_BYTES];
static _Atomic bool *through; /* the child's call has returned */

static struct ring *side; /* the child's side of the ring */
static const struct ring_slot *held;

/* ---- The calls ---- */

/* Returns a cursor with a different number in many members, so that a torn one is noticed. */
static struct cursor place_at(uint64_t batch)
{
	struct cursor cursor = at(batch);

	cursor.places = CURSOR_PLACES_MAX;
	for (unsigned i = 0; i < CURSOR_PLACES_MAX; i += 4)
		cursor.place[i].pass = cursor.place[i].window = cursor.place[i].offset = batch + i;
	return cursor;
}

static void fill(struct ring *ring, uint64_t batch)
{
	struct ring_slot *slot;

	assert_int_equal(ring_claim(ring, &slot), 0);
	slot->kind = RING_DATA;
	slot->rows = slot->valid_rows = 2;
	slot->batch = batch;
	slot->cursor = place_at(batch + 1);
	memset(ring_column_data(ring, slot, 0), (int)batch, 32);
}

static void fill_next(const struct killed_case *c)
{
	(void)c;
	side = writer();
	fill(side, begin(side));
}

static void commit(void)
{
	ring_commit(side);
}

static void take_next(const struct killed_case *c)
{
	struct cursor from = place_at(c->released);

	side = reader();
	ring_attach(side, &from);
	held = expect(side, c->released);
}

/* Reads two slots and releases the second first: the release of the first then moves tail over both. */
static void take_two(const struct killed_case *c)
{
	take_next(c);
	ring_release(side, expect(side, c->released + 1));
}

static void release(void)
{
	ring_release(side, held);
}

static void open_reader(const struct killed_case *c)
{
	(void)c;
	side = reader();
}

static void attach(void)
{
	struct cursor from = place_at(ELSEWHERE);

	ring_attach(side, &from);
}

/* ---- Allowed states afterwards ---- */

/* Goes on with a new writer and a new reader, which attaches at `batch`: no batch is lost, repeated or
 * torn. */
static void goes_on_at(uint64_t batch)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = place_at(batch);
	uint64_t next;

	ring_attach(r, &from);
	next = begin(w);
	for (uint64_t i = 0; i < 2 * SLOTS; i++) {
		fill(w, next++);
		ring_commit(w);
		ring_release(r, expect(r, batch + i));
	}
	ring_close(r);
	ring_close(w);
}

/* A new writer goes on after the last published slot, which is that of the killed call or the one before
 * it. */
static void place_follows_head(uint64_t first, uint64_t published)
{
	struct ring *w = writer();

	assert_in_range(shared->head, published, published + 1);
	assert_int_equal(begin(w), first + shared->head - published);
	ring_close(w);
}

static void commits(const struct killed_case *c)
{
	place_follows_head(c->published, c->published);
	goes_on_at(c->released);
}

static void commits_elsewhere(const struct killed_case *c)
{
	place_follows_head(ELSEWHERE, c->published);
	goes_on_at(ELSEWHERE);
}

/* A reader that attaches at the position of tail makes no new request; at any other position it makes one. */
static void releases(const struct killed_case *c)
{
	for (uint64_t batch = c->released - 1; batch <= c->released + 2; batch++) {
		uint64_t request = 1 + (shared->tail != batch);

		goes_on_at(batch);
		assert_int_equal(shared->request, request);
		memcpy(shared, after, sizeof(after));
	}
	assert_in_range(shared->tail, c->released, c->released + 2);
}

/* The ring contains the old wanted cursor or the new one, never parts of both. */
static void requests(const struct killed_case *c)
{
	struct ring *w = writer();

	assert_in_range(shared->request, 2, 3);
	assert_int_equal(begin(w), shared->request == 2 ? c->requested : ELSEWHERE);
	ring_close(w);
	goes_on_at(ELSEWHERE);
}

/* ---- Killing ---- */

static pid_t start(const struct killed_case *c)
{
	pid_t child;
	int status;

	memcpy(shared, before, sizeof(before));
	atomic_store(through, false);
	child = fork();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(NO_PTRACE);
		c->ready(c);
		(void)raise(SIGSTOP);
		c->call();
		atomic_store(through, true);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PTRACE) {
		print_message("a child cannot be traced here\n");
		skip();
	}
	assert_true(WIFSTOPPED(status));
	return child;
}

/* Steps one instruction. False: the call has returned. */
static bool step(pid_t child)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	return !atomic_load(through);
}

static void end(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Finds the instructions that change the file. A kill after any other instruction leaves the same file as a
 * kill after the one before it. */
static unsigned find_stores(const struct killed_case *c, unsigned store[static STORES_MAX])
{
	pid_t child = start(c);
	unsigned stores = 0;

	memcpy(after, shared, sizeof(after));
	store[stores++] = 0;
	for (unsigned steps = 1; step(child); steps++) {
		assert_true(steps < STEPS_MAX);
		if (memcmp(after, bytes, sizeof(after)) == 0)
			continue;
		assert_true(stores < STORES_MAX);
		memcpy(after, shared, sizeof(after));
		store[stores++] = steps;
	}
	end(child);
	return stores;
}

static void check_everywhere(const struct killed_case *c)
{
	unsigned store[STORES_MAX], stores;

	memcpy(before, shared, sizeof(before));
	stores = find_stores(c, store);
	/* Fewer stores would mean that the call never reached the notes. */
	assert_true(stores > 5);
	for (unsigned i = 0; i < stores; i++) {
		pid_t child = start(c);

		for (unsigned steps = 0; steps < store[i]; steps++)
			(void)step(child);
		end(child);
		memcpy(after, shared, sizeof(after));
		c->check(c);
	}
}

static bool can_step(void)
{
#if defined(__x86_64__)
	return true;
#elif defined(__aarch64__) && defined(HWCAP_ATOMICS)
	/* Without LSE atomics an exchange is a loop, which a step in its middle restarts. */
	return (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
#else
	return false;
#endif
}

/* ---- The cases ---- */

static void make_ring(const struct killed_case *c)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = place_at(0);
	int fd;

	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < c->published; i++) {
		fill(w, i);
		ring_commit(w);
		if (i < c->released)
			ring_release(r, expect(r, i));
	}
	from = place_at(c->requested);
	if (c->requested != NOWHERE)
		ring_attach(r, &from);
	ring_close(r);
	ring_close(w);
	fd = open(path, O_RDWR);
	shared = mmap(NULL, sizeof(before), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	bytes = (const uint8_t *)shared;
	(void)close(fd);
}

/* Repeat from several positions: each note has two entries that alternate, and slots are used again. */
static void check_places(struct killed_case c, uint64_t first)
{
	if (!can_step()) {
		print_message("single steps are not for this machine\n");
		skip();
	}
	for (c.released = first; c.released < first + 3; c.released++) {
		c.published = c.released + (c.released ? 2 : 0);
		make_ring(&c);
		check_everywhere(&c);
		(void)munmap(shared, sizeof(before));
		(void)unlink(path);
	}
}

static void commit_of_the_next_slot(void **state)
{
	(void)state;
	check_places(
		(struct killed_case){
			.requested = NOWHERE, .ready = fill_next, .call = commit, .check = commits },
		0);
}

static void first_commit_of_a_generation(void **state)
{
	(void)state;
	check_places((struct killed_case){ .requested = ELSEWHERE,
					   .ready = fill_next,
					   .call = commit,
					   .check = commits_elsewhere },
		     0);
}

static void release_of_one_slot(void **state)
{
	(void)state;
	check_places(
		(struct killed_case){
			.requested = NOWHERE, .ready = take_next, .call = release, .check = releases },
		1);
}

static void release_of_two_slots(void **state)
{
	(void)state;
	check_places(
		(struct killed_case){
			.requested = NOWHERE, .ready = take_two, .call = release, .check = releases },
		1);
}

static void attach_elsewhere(void **state)
{
	(void)state;
	check_places(
		(struct killed_case){
			.requested = 7, .ready = open_reader, .call = attach, .check = requests },
		1);
}

static int share(void **state)
{
	through = mmap(NULL, sizeof(*through), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return through == MAP_FAILED ? -1 : make_folder(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(commit_of_the_next_slot, fresh),
		cmocka_unit_test_setup(first_commit_of_a_generation, fresh),
		cmocka_unit_test_setup(release_of_one_slot, fresh),
		cmocka_unit_test_setup(release_of_two_slots, fresh),
		cmocka_unit_test_setup(attach_elsewhere, fresh),
	};

	return cmocka_run_group_tests(tests, share, remove_folder);
}
