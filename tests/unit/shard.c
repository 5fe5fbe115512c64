/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of shards, a shard's notes of its stages, and the bytes that it has on the account. */
#include "fetchd/shard/shard.c"   // NOLINT(bugprone-suspicious-include): its statics
#include "fetchd/memory/buffer.c" // NOLINT(bugprone-suspicious-include)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define PARTS 3u

static void expect_queue(struct queue *queue, struct shard *const *shard, unsigned count)
{
	const struct shard *at = queue->first;

	for (unsigned i = 0; i < count; i++, at = at->next)
		assert_ptr_equal(at, shard[i]);
	assert_null(at);
	assert_ptr_equal(queue->last, count ? shard[count - 1] : NULL);
}

static void first_in_is_first_out(void **state)
{
	struct shard a = { 0 }, b = { 0 };
	struct queue queue = { 0 };

	(void)state;
	assert_null(queue_pop(&queue));
	queue_append(&queue, &a);
	expect_queue(&queue, (struct shard *[]){ &a }, 1);
	queue_append(&queue, &b);
	expect_queue(&queue, (struct shard *[]){ &a, &b }, 2);
	assert_ptr_equal(queue_pop(&queue), &a);
	/* The same shard comes back: its old neighbour must not come with it. */
	queue_append(&queue, &a);
	expect_queue(&queue, (struct shard *[]){ &b, &a }, 2);
	assert_ptr_equal(queue_pop(&queue), &b);
	assert_ptr_equal(queue_pop(&queue), &a);
	assert_null(queue_pop(&queue));
	expect_queue(&queue, NULL, 0);
	queue_append(&queue, &b);
	expect_queue(&queue, (struct shard *[]){ &b }, 1);
}

static void any_shard_can_be_removed(void **state)
{
	(void)state;
	for (unsigned removed = 0; removed < 3; removed++) {
		struct shard shard[3] = { 0 }, *left[3];
		struct queue queue = { 0 };
		unsigned count = 0;

		for (unsigned i = 0; i < 3; i++) {
			queue_append(&queue, &shard[i]);
			if (i != removed)
				left[count++] = &shard[i];
		}
		queue_remove(&queue, &shard[removed]);
		expect_queue(&queue, left, 2);
		queue_append(&queue, &shard[removed]);
		left[2] = &shard[removed];
		expect_queue(&queue, left, 3);
		for (unsigned i = 0; i < 3; i++)
			queue_remove(&queue, left[i]);
		expect_queue(&queue, NULL, 0);
	}
}

static void the_stage_is_the_one_after_the_last_left(void **state)
{
	static struct shard shard;

	(void)state;
	assert_int_equal(shard_stage(&shard, true), STALL_CACHE);
	assert_int_equal(shard_stage(&shard, false), STALL_QUEUE);
	shard_leaves(&shard, STALL_CACHE);
	assert_int_equal(shard_stage(&shard, true), STALL_QUEUE);
	/* A first attempt is no retry. */
	shard_notes_request(&shard, &(struct http_times){ .first_us = 5, .sent_us = 5 });
	assert_int_equal(shard_stage(&shard, true), STALL_CONNECT);
	shard_notes_request(&shard, &(struct http_times){ .first_us = 5, .sent_us = 9 });
	assert_int_equal(atomic_load(&shard.left_us[STALL_RETRY]), 9);
	assert_int_equal(shard_stage(&shard, true), STALL_CONNECT);
	shard_notes_request(&shard, &(struct http_times){ .first_us = 5, .sent_us = 9, .connected_us = 11 });
	assert_int_equal(shard_stage(&shard, true), STALL_FIRST_BYTE);
	shard_leaves(&shard, STALL_TRANSFER);
	assert_int_equal(shard_stage(&shard, true), STALL_WORKER);
	shard_leaves(&shard, STALL_PARSE);
	assert_int_equal(shard_stage(&shard, true), STALL_GATHER);
	shard_forgets(&shard);
	assert_int_equal(shard_stage(&shard, false), STALL_QUEUE);
}

static void a_shard_becomes_another_object(void **state)
{
	static struct shard shard = { .fetched_again = true, .cached = true, .repinned = true };
	const struct plan_shard plan = { .key = "k", .etag = "e", .version = "v", .bytes = 7 };

	(void)state;
	shard.err.code = -EIO;
	shard.parts = 4;
	shard_leaves(&shard, STALL_CACHE);
	shard_begin(&shard, &plan, NULL);
	assert_false(shard.fetched_again || shard.cached || shard.repinned);
	assert_int_equal(shard.err.code, 0);
	assert_int_equal(shard.parts, 0);
	assert_int_equal(shard.pin.bytes, 7);
	assert_string_equal(shard.pin.etag, "e");
	assert_string_equal(shard.pin.version, "v");
	assert_int_equal(shard_stage(&shard, true), STALL_CACHE);
}

/* What shard_bytes() says before is what the account has afterwards. */
static void the_account_is_known_beforehand(void **state)
{
	static struct budget budget = { .max = 1u << 20 };
	const struct {
		uint64_t bytes;
		bool margin;
		uint64_t held;
	} cases[] = {
		{ 0, true, 0 },       { 800, false, 800 },
		{ 700, false, 800 },  /* a smaller object: the buffer stays */
		{ 1600, true, 1800 }, /* an eighth more */
		{ 1700, true, 1800 }, { 1801, false, 1801 },
	};
	struct group group = { 0 };
	struct shard shard = { .group = &group };
	struct error err;

	(void)state;
	assert_int_equal(shard_init(&shard, &budget, PARTS, &err), 0);
	assert_int_equal(shard.parts_max, PARTS);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before;

		shard.plan.bytes = cases[i].bytes;
		group.margin = cases[i].margin;
		before = shard_bytes(&shard, group.margin);
		assert_int_equal(shard_reserve(&shard, &err), 0);
		assert_int_equal(before, cases[i].held);
		assert_int_equal(shard_bytes(&shard, group.margin), cases[i].held);
		assert_int_equal(atomic_load(&budget.memory), cases[i].held);
		assert_ptr_equal(shard.stored, shard.raw.output.data);
	}
	/* A resting buffer grows back into the memory that it has, without an eighth more. */
	shard_release(&shard);
	assert_null(shard.stored);
	assert_int_equal(atomic_load(&budget.memory), 0);
	shard.plan.bytes = 1600;
	assert_int_equal(shard_bytes(&shard, true), 1600);
	shard_drop(&shard);
	free(shard.part);
	free(shard.arrival);
}

/* Memory for windows that are loaded later: as large as the largest shard so far, and not on the account. */
static void memory_for_later(void **state)
{
	static struct budget budget = { .max = 1u << 20 };
	struct group group = { 0 };
	struct shard shard[2] = { { .group = &group }, { .group = &group } }, later = { .group = &group };
	struct shard_sizes sizes = { 0 };
	struct error err;

	(void)state;
	assert_int_equal(shard_init(&later, &budget, PARTS, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(shard_init(&shard[i], &budget, PARTS, &err), 0);
		shard[i].plan.bytes = i ? 300 : 500;
		assert_int_equal(shard_reserve(&shard[i], &err), 0);
		assert_int_equal(buffer_grow(&shard[i].index, 0, i ? 90 : 10, &err), 0);
		shard[i].parts_used = i;
		shard_measure(&shard[i], &sizes);
	}
	assert_int_equal(sizes.raw, 500);
	assert_int_equal(sizes.index, 90);
	assert_int_equal(sizes.inflated, 0);
	assert_int_equal(sizes.parts, 1);
	sizes.parts = PARTS + 1; /* never beyond its arrays */
	shard_expect(&later, &sizes);
	assert_int_equal(later.parts_used, PARTS);
	assert_int_equal(later.raw.allocated, 500);
	assert_int_equal(shard_bytes(&later, false), 0);
	assert_int_equal(atomic_load(&budget.memory), 500 + 10 + 300 + 90);
	for (unsigned i = 0; i < 2; i++) {
		shard_drop(&shard[i]);
		free(shard[i].part);
		free(shard[i].arrival);
	}
	shard_drop(&later);
	free(later.part);
	free(later.arrival);
	assert_int_equal(atomic_load(&budget.memory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_is_first_out),
		cmocka_unit_test(any_shard_can_be_removed),
		cmocka_unit_test(the_stage_is_the_one_after_the_last_left),
		cmocka_unit_test(a_shard_becomes_another_object),
		cmocka_unit_test(the_account_is_known_beforehand),
		cmocka_unit_test(memory_for_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
