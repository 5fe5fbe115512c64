/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills both sides of a ring at random: ring_crash RING KILLS SEED
 *
 * The writer fills slots in three threads and commits in one. Every 64 batches the reader stores its position
 * in a word that survives it, in place of an atomic checkpoint. After all kills the reader's digest of all
 * batches must be the digest of a run without kills: no batch is lost, repeated or torn. The stream ends only
 * after the last kill, so that every kill hits both sides at work. Prints one line of counts.
 */
#include "core/ring/ring.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define SLOTS      8
#define WORDS      1024
#define FILLERS    3
#define CHECKPOINT 64
#define QUIET      1024 /* batches published after the last kill */

struct shared {
	_Atomic uint64_t end;    /* the number of batches, known after the last kill */
	_Atomic uint64_t batch;  /* the checkpoint */
	_Atomic uint64_t digest; /* digest of all batches, set at the end */
	_Atomic uint64_t read;   /* slots read by all readers: progress */
};

static struct shared *shared;
static const struct ring_geometry geometry = { .slots = SLOTS,
					       .columns = 1,
					       .column = { { "x", RING_INT64, WORDS * 8, WORDS * 8 } } };

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ (x >> 33);
}

/* ---- Writer ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct ring *ring;
	struct {
		struct ring_slot *slot;
		uint64_t batch;
		enum { FREE, WAITING, FILLING, FILLED } state;
	} job[SLOTS];
} fill = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .work = PTHREAD_COND_INITIALIZER,
	   .done = PTHREAD_COND_INITIALIZER };

static int find_job(int state)
{
	for (int i = 0; i < SLOTS; i++)
		if ((int)fill.job[i].state == state)
			return i;
	return -1;
}

static void *filler(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;

	(void)pthread_mutex_lock(&fill.lock);
	for (;;) {
		struct timespec nap = { .tv_nsec = rand_r(&seed) % 8 ? 0 : rand_r(&seed) % 60000 };
		uint64_t *words, batch;
		int i;

		while ((i = find_job(WAITING)) < 0)
			(void)pthread_cond_wait(&fill.work, &fill.lock);
		fill.job[i].state = FILLING;
		batch = fill.job[i].batch;
		words = ring_column_data(fill.ring, fill.job[i].slot, 0);
		(void)pthread_mutex_unlock(&fill.lock);
		for (uint64_t w = 0; w < WORDS; w++)
			words[w] = mix(batch * 1000003 + w);
		if (nap.tv_nsec)
			(void)nanosleep(&nap, NULL);
		(void)pthread_mutex_lock(&fill.lock);
		fill.job[i].state = FILLED;
		(void)pthread_cond_signal(&fill.done);
	}
	return NULL;
}

static void quiesce(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (fill.job[i].state == WAITING)
			fill.job[i].state = FREE;
	while (find_job(FILLING) >= 0)
		(void)pthread_cond_wait(&fill.done, &fill.lock);
	for (int i = 0; i < SLOTS; i++)
		fill.job[i].state = FREE;
}

static void writer(const char *path)
{
	uint64_t generation = 0, next = 0, committed = 0;
	struct error err;
	pthread_t thread;

	if (ring_create(path, &geometry, 1000, &fill.ring, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		_exit(7);
	}
	for (uintptr_t i = 0; i < FILLERS; i++)
		(void)pthread_create(&thread, NULL, filler, (void *)(i + 1));
	(void)pthread_mutex_lock(&fill.lock);
	for (;;) {
		struct ring_slot *slot;
		struct cursor from;
		bool closed, moved = false;
		uint64_t wanted = ring_request(fill.ring, &from, &closed);

		if (wanted != generation) {
			quiesce();
			ring_begin(fill.ring, wanted);
			generation = wanted;
			next = committed = from.batch;
		}
		while (generation && ring_claim(fill.ring, &slot) == 0) {
			fill.job[next % SLOTS].slot = slot;
			fill.job[next % SLOTS].batch = next;
			fill.job[next % SLOTS].state = WAITING;
			next++;
			(void)pthread_cond_signal(&fill.work);
		}
		while (committed < next && fill.job[committed % SLOTS].state == FILLED) {
			slot = fill.job[committed % SLOTS].slot;
			slot->kind = RING_DATA;
			slot->rows = slot->valid_rows = 1;
			slot->batch = committed;
			slot->column[0].bytes = WORDS * 8;
			fill.job[committed % SLOTS].state = FREE;
			slot->cursor = (struct cursor){ .version = CURSOR_VERSION, .batch = ++committed };
			ring_commit(fill.ring);
			moved = true;
		}
		if (moved)
			continue;
		if (committed < next) {
			(void)pthread_cond_wait(&fill.done, &fill.lock);
			continue;
		}
		(void)pthread_mutex_unlock(&fill.lock);
		(void)ring_writer_wait(fill.ring, 1000);
		(void)pthread_mutex_lock(&fill.lock);
	}
}

/* ---- Reader ---- */

static int use(const struct ring *ring, const struct ring_slot *slot, uint64_t batch, uint64_t *digest)
{
	const uint64_t *words = ring_column_data(ring, slot, 0);

	if (slot->batch != batch)
		return 4;
	for (uint64_t w = 0; w < WORDS; w++)
		if (words[w] != mix(batch * 1000003 + w))
			return 5;
	*digest = mix(*digest ^ words[batch % WORDS]);
	return 0;
}

static uint64_t digest_of(uint64_t batches)
{
	uint64_t digest = 0;

	for (uint64_t b = 0; b < batches; b++)
		digest = mix(digest ^ mix(b * 1000003 + b % WORDS));
	return digest;
}

static void reader(const char *path)
{
	struct cursor wanted = { .version = CURSOR_VERSION, .batch = atomic_load(&shared->batch) };
	uint64_t batch = wanted.batch, digest = digest_of(batch);
	struct timespec nap = { .tv_nsec = 500000 };
	struct ring *ring;
	struct error err;

	while (ring_open(path, &ring, &err) < 0)
		(void)nanosleep(&nap, NULL);
	ring_attach(ring, &wanted);
	while (batch < atomic_load(&shared->end)) {
		const struct ring_slot *slot;
		int r = ring_next(ring, &slot, &err);

		if (r == -EAGAIN) {
			(void)ring_reader_wait(ring, 1000);
			continue;
		}
		if (r < 0 || (r = use(ring, slot, batch, &digest)) > 0) {
			fprintf(stderr, "batch %" PRIu64 ": %s\n", batch,
				r < 0 ? err.text : "wrong slot or torn bytes");
			_exit(r < 0 ? 3 : r);
		}
		ring_release(ring, slot);
		batch++;
		atomic_fetch_add(&shared->read, 1);
		if (batch % CHECKPOINT == 0)
			atomic_store(&shared->batch, batch);
	}
	atomic_store(&shared->digest, digest);
	_exit(0);
}

/* ---- The killer ---- */

static pid_t start(void (*side)(const char *), const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		side(path);
	}
	return pid;
}

static void end(pid_t *pid)
{
	(void)kill(*pid, SIGKILL);
	(void)waitpid(*pid, NULL, 0);
	*pid = 0;
}

int main(int argc, char **argv)
{
	pid_t writing = 0, reading = 0;
	uint64_t kills = 0, wanted_kills, end_batch, last = 0, still = 0;
	int status = 0;
	unsigned seed;
	bool equal;

	if (argc != 4)
		return 2;
	wanted_kills = strtoull(argv[2], NULL, 10);
	seed = (unsigned)strtoul(argv[3], NULL, 10);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(&shared->end, UINT64_MAX);
	for (;;) {
		struct timespec nap = { .tv_nsec = 300000 + rand_r(&seed) % 4000000 };

		if (!writing)
			writing = start(writer, argv[1]);
		if (!reading)
			reading = start(reader, argv[1]);
		(void)nanosleep(&nap, NULL);
		if (waitpid(reading, &status, WNOHANG) == reading)
			break;
		if (kills < wanted_kills) {
			end(rand_r(&seed) & 1 ? &writing : &reading);
			kills++;
		} else if (atomic_load(&shared->end) == UINT64_MAX) {
			atomic_store(&shared->end, (atomic_load(&shared->batch) / QUIET + 2) * QUIET);
		}
		still = atomic_load(&shared->read) == last ? still + 1 : 0;
		last = atomic_load(&shared->read);
		if (still > 4000) {
			fprintf(stderr, "stands still at batch %" PRIu64 "\n", atomic_load(&shared->batch));
			status = 9 << 8;
			break;
		}
	}
	end(&writing);
	end_batch = atomic_load(&shared->end);
	equal = end_batch != UINT64_MAX && atomic_load(&shared->digest) == digest_of(end_batch);
	printf("kills %" PRIu64 " batches %" PRIu64 " read %" PRIu64 " status %d digest %s\n", kills,
	       end_batch, last, WIFEXITED(status) ? WEXITSTATUS(status) : -1, equal ? "equal" : "different");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && kills == wanted_kills && equal ? 0 : 1;
}
