/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three network threads of one source, each with a store of this test. The key of a shard says what its store
 * does: "good" brings the bytes, "held" never answers, "bad" fails once the test allows it. Also with TSan.
 */
#include "fetchd/shard/network.c" // NOLINT(bugprone-suspicious-include): its statics

#include "drivers/store/backend.h"
#include "fetchd/memory/buffer.c" // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/arrive.c"  // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/shard.c"   // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/sources.c" // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/work.c"    // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define THREADS    3u
#define SHARDS     7u
#define PART_BYTES 65536u
#define BYTES      (3 * PART_BYTES)
#define WAIT_MS    20000u

/* ---- A store ---- */

struct fake {
	struct store store;
	struct store_request *flying;
	uint64_t bytes_in;
	pthread_mutex_t lock;
	pthread_cond_t wakes;
	bool woken; /* guarded by the lock */
};

static struct fake fakes[THREADS];
static atomic_bool may_fail;

static int fake_submit(struct store *store, struct store_request *request, struct error *err)
{
	struct fake *fake = (struct fake *)store;

	(void)err;
	request->next = fake->flying;
	fake->flying = request;
	return 0;
}

static void fake_cancel(struct store *store, struct store_request *request)
{
	struct store_request **at = &((struct fake *)store)->flying;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
}

static void fake_cancel_all(struct store *store)
{
	for (struct fake *fake = (struct fake *)store; fake->flying;) {
		struct store_request *request = fake->flying;

		fake->flying = request->next;
		request->result = error_set(&request->err, -ECANCELED, "given up");
	}
}

/* Answers one request that can be answered. */
static bool answer(struct fake *fake)
{
	for (struct store_request *request = fake->flying; request; request = request->next) {
		const bool good = strncmp(request->key, "good", 4) == 0;

		if (!good && (strncmp(request->key, "bad", 3) != 0 || !atomic_load(&may_fail)))
			continue;
		fake_cancel(&fake->store, request);
		memset(request->buffer, 'x', request->bytes);
		fake->bytes_in += request->bytes;
		store_complete(&fake->store, request,
			       good ? 0 : error_set(&request->err, -EIO, "%s: the disk burns", request->key));
		return true;
	}
	return false;
}

static int fake_drive(struct store *store, uint32_t timeout_ms, const struct store_request *until,
		      struct error *err)
{
	struct fake *fake = (struct fake *)store;
	const uint64_t until_ns = clock_ns() + (uint64_t)timeout_ms * 1000000;
	const struct timespec end = { .tv_sec = (time_t)(until_ns / 1000000000),
				      .tv_nsec = (long)(until_ns % 1000000000) };

	(void)until;
	(void)err;
	if (answer(fake))
		return 0;
	(void)pthread_mutex_lock(&fake->lock);
	if (!fake->woken)
		(void)pthread_cond_clockwait(&fake->wakes, &fake->lock, CLOCK_MONOTONIC, &end);
	fake->woken = false;
	(void)pthread_mutex_unlock(&fake->lock);
	return 0;
}

static void fake_wake(struct store *store)
{
	struct fake *fake = (struct fake *)store;

	(void)pthread_mutex_lock(&fake->lock);
	fake->woken = true;
	(void)pthread_cond_signal(&fake->wakes);
	(void)pthread_mutex_unlock(&fake->lock);
}

static struct store_counters fake_counters(const struct store *store)
{
	return (struct store_counters){ .bytes_in = ((const struct fake *)store)->bytes_in, .at_once = 2 };
}

static const struct store_ops fake_ops = { .submit = fake_submit,
					   .drive = fake_drive,
					   .wake = fake_wake,
					   .cancel = fake_cancel,
					   .cancel_all = fake_cancel_all,
					   .counters = fake_counters };

/* ---- A fetchd with one source ---- */

static struct sources all;
static struct work work;
static struct fetch fetch = { .lock = PTHREAD_MUTEX_INITIALIZER,
			      .run.config = { .sources = 1, .fetch.part_bytes = PART_BYTES },
			      .sources = &all,
			      .work = &work };

static void make_source(void)
{
	struct source *source = &all.source[0];

	all.count = 1;
	all.threads = THREADS;
	all.connections_max = 6;
	*source = (struct source){ .fetch = &fetch, .url = "s3://kiln" };
	for (uint32_t i = 0; i < THREADS; i++) {
		fakes[i] = (struct fake){ .store.ops = &fake_ops,
					  .lock = PTHREAD_MUTEX_INITIALIZER,
					  .wakes = PTHREAD_COND_INITIALIZER };
		source->network[i].source = source;
		source->network[i].store = &fakes[i].store;
	}
}

/* A shard is fetched; the lock is held. */
static void fetch_shard(struct shard *shard, struct group *group, const char *key, uint64_t bytes)
{
	struct error err;

	*shard = (struct shard){ .source = &all.source[0], .group = group, .plan.key = key };
	assert_int_equal(shard_init(shard, &fetch.budget, BYTES / PART_BYTES, &err), 0);
	shard->raw.output.data = malloc(BYTES);
	assert_non_null(shard->raw.output.data);
	shard->plan.bytes = bytes;
	group->shards++;
	sources_fetch(shard);
}

static void free_shard(struct shard *shard)
{
	free(shard->part);
	free(shard->arrival);
	free(shard->raw.output.data);
}

/* Returns the next shard for the workers; NULL: none comes. */
static struct shard *next_for_workers(void)
{
	struct shard *shard;

	(void)pthread_mutex_lock(&fetch.lock);
	for (uint64_t end_ms = clock_us() / 1000 + WAIT_MS;
	     !(shard = queue_pop(&work.shards)) && clock_us() / 1000 < end_ms;)
		fetch_wait(&fetch, &work.ready, 100);
	(void)pthread_mutex_unlock(&fetch.lock);
	return shard;
}

/* ---- Tests: the first one runs before there are threads ---- */

static void the_thread_with_the_fewest_bytes_gets_the_shard(void **state)
{
	static const struct {
		uint64_t bytes;
		uint32_t thread;
	} dealt[] = { { 900, 0 }, { 300, 1 }, { 200, 2 }, { 150, 2 }, { 600, 1 }, { 600, 2 }, { 1, 0 } };
	struct shard shard[SHARDS];
	struct group group = { 0 };

	(void)state;
	for (size_t i = 0; i < SHARDS; i++) {
		fetch_shard(&shard[i], &group, "good", dealt[i].bytes);
		assert_ptr_equal(shard[i].network, &all.source[0].network[dealt[i].thread]);
		assert_ptr_equal(shard[i].network->to_fetch.last, &shard[i]);
		free_shard(&shard[i]);
	}
	assert_int_equal(atomic_load(&all.source[0].network[2].bytes), 950);
	make_source();
}

static void parts_for_all_threads_together(void **state)
{
	(void)state;
	assert_int_equal(at_once_of(&all.source[0].network[0]), 6);
	all.connections_max = 5;
	assert_int_equal(at_once_of(&all.source[0].network[0]), 5);
	all.connections_max = 6;
}

static void start(void **state)
{
	pthread_t thread;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&thread, NULL, network_thread, &all.source[0].network[i]), 0);
		(void)pthread_detach(thread);
	}
}

static void all_threads_fetch_and_their_figures_are_added(void **state)
{
	struct shard shard[SHARDS], *arrived;
	struct group group = { 0 };
	uint64_t bytes_in = 0;

	(void)state;
	(void)pthread_mutex_lock(&fetch.lock);
	for (size_t i = 0; i < SHARDS; i++)
		fetch_shard(&shard[i], &group, "good", BYTES - i);
	(void)pthread_mutex_unlock(&fetch.lock);
	for (size_t i = 0; i < SHARDS; i++) {
		assert_non_null(arrived = next_for_workers());
		assert_int_equal(arrived->err.code, 0);
		assert_int_equal(arrived->parts, 3);
		assert_int_equal(arrived->raw.output.data[arrived->plan.bytes - 1], 'x');
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(atomic_load(&all.source[0].network[i].bytes), 0);
	/* A thread copies its figures after it has handed its last shard over. */
	for (uint64_t end_ms = clock_us() / 1000 + WAIT_MS;
	     bytes_in != SHARDS * BYTES - 21 && clock_us() / 1000 < end_ms;) {
		(void)pthread_mutex_lock(&fetch.lock);
		bytes_in = source_counters(&all.source[0]).bytes_in;
		(void)pthread_mutex_unlock(&fetch.lock);
	}
	assert_int_equal(bytes_in, SHARDS * BYTES - 21);
	for (size_t i = 0; i < SHARDS; i++)
		free_shard(&shard[i]);
}

static void discard_all(struct shard *last)
{
	(void)pthread_mutex_lock(&fetch.lock);
	fetch.discard = true;
	sources_wake(&all);
	(void)pthread_mutex_unlock(&fetch.lock);
	assert_ptr_equal(next_for_workers(), last);
	assert_int_equal(last->err.code, -ECANCELED);
	assert_string_equal(last->err.text, "held-other: no longer wanted");
	(void)pthread_mutex_lock(&fetch.lock);
	fetch.discard = false;
	(void)pthread_mutex_unlock(&fetch.lock);
}

/* Six shards of a window are held in three threads. The seventh fails; another window goes on. A shard of the
 * window that comes late is given up, too. */
static void a_window_that_fails_in_one_thread_is_given_up_in_all(void **state)
{
	struct shard shard[SHARDS], other, late, *arrived;
	struct group group = { 0 }, another = { 0 };
	unsigned failed = 0;

	(void)state;
	(void)pthread_mutex_lock(&fetch.lock);
	for (size_t i = 0; i + 1 < SHARDS; i++)
		fetch_shard(&shard[i], &group, "held", BYTES);
	fetch_shard(&other, &another, "held-other", BYTES);
	fetch_shard(&shard[SHARDS - 1], &group, "bad", BYTES);
	for (size_t i = 0; i < THREADS; i++)
		assert_ptr_equal(shard[i].network, &all.source[0].network[i]);
	(void)pthread_mutex_unlock(&fetch.lock);
	atomic_store(&may_fail, true);
	(void)pthread_mutex_lock(&fetch.lock);
	sources_wake(&all);
	(void)pthread_mutex_unlock(&fetch.lock);
	for (size_t i = 0; i < SHARDS; i++) {
		assert_non_null(arrived = next_for_workers());
		assert_ptr_not_equal(arrived, &other);
		failed += arrived->err.code == -EIO && strcmp(arrived->err.text, "bad: the disk burns") == 0;
		assert_true(arrived->err.code == -EIO ||
			    strcmp(arrived->err.text, "held: given up, as bad failed") == 0);
	}
	assert_int_equal(failed, 1);
	(void)pthread_mutex_lock(&fetch.lock);
	fetch_shard(&late, &group, "held", BYTES);
	(void)pthread_mutex_unlock(&fetch.lock);
	assert_ptr_equal(next_for_workers(), &late);
	assert_string_equal(late.err.text, "held: given up, as bad failed");
	discard_all(&other);
	for (size_t i = 0; i < SHARDS; i++)
		free_shard(&shard[i]);
	free_shard(&other);
	free_shard(&late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thread_with_the_fewest_bytes_gets_the_shard),
		cmocka_unit_test(parts_for_all_threads_together),
		cmocka_unit_test(start),
		cmocka_unit_test(all_threads_fetch_and_their_figures_are_added),
		cmocka_unit_test(a_window_that_fails_in_one_thread_is_given_up_in_all),
	};

	(void)sched_getaffinity(0, sizeof(fetch.cores.network), &fetch.cores.network);
	work_init(&work);
	make_source();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
