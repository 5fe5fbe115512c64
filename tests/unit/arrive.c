/* SPDX-License-Identifier: Apache-2.0 */
/* A shard arrives in ranges, and each range in pieces, in any order, some again from their beginning.
 * After each piece the index must hold only boundaries that reading the shard from its beginning finds. */
#include "fetchd/shard/arrive.c"  // NOLINT(bugprone-suspicious-include): its statics
#include "fetchd/memory/buffer.c" // NOLINT(bugprone-suspicious-include)
#include "fetchd/shard/shard.c"   // NOLINT(bugprone-suspicious-include)

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SHARD_BYTES (UINT64_C(256) << 10)
#define PARTS       5u

static struct budget budget = { .max = UINT64_C(1) << 30 };
static struct group group = { .margin = true };
static struct store_request request[PARTS];
static struct arrival arrival[PARTS];
static uint8_t bytes[SHARD_BYTES], raw[SHARD_BYTES];
static uint32_t seed = 44;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* Makes records of up to `most` bytes; returns their size. Some records contain a whole frame. */
static uint64_t write_records(uint32_t most)
{
	static uint8_t data[SHARD_BYTES];
	uint64_t at = 0;

	for (;;) {
		uint64_t length = below(most + 1);

		for (uint64_t i = 0; i < length; i++)
			data[i] = (uint8_t)below(256);
		if (length > 100 && below(4) == 0)
			(void)tfrecord_frame(data + length, 20, data + below(60));
		if (at + length + TFRECORD_FRAME_BYTES > SHARD_BYTES)
			return at;
		at += tfrecord_frame(data, length, bytes + at);
	}
}

static void make_shard(struct shard *shard, uint64_t size)
{
	uint64_t each = size / PARTS + 1;

	*shard = (struct shard){ .group = &group,
				 .plan = { .key = "a.tfrecord", .bytes = size },
				 .part = request,
				 .arrival = arrival,
				 .parts = PARTS,
				 .parts_used = PARTS,
				 .plain = raw,
				 .raw = { .output = { .data = raw, .capacity = SHARD_BYTES },
					  .budget = &budget } };
	memset(raw, 0, sizeof(raw));
	for (uint64_t i = 0; i < PARTS; i++) {
		request[i] = (struct store_request){ .offset = i * each,
						     .bytes = size - i * each < each ? size - i * each : each,
						     .context = shard };
		arrival_expect(shard, i, true);
	}
}

/* A piece of a random range, or the beginning of the range again. */
static void deliver(uint64_t *fed)
{
	uint32_t i = below(PARTS);
	uint64_t piece = 1 + below(below(4) ? 9000 : 40), left = request[i].bytes - fed[i];
	uint8_t hot[9001];

	if (below(60) == 0 && left > 0) {
		fed[i] = 0;
		return;
	}
	piece = piece < left ? piece : left;
	if (piece == 0)
		return;
	memcpy(hot, bytes + request[i].offset + fed[i], piece);
	memcpy(raw + request[i].offset + fed[i], hot, piece);
	request[i].arrived(&request[i], fed[i], hot, piece);
	fed[i] += piece;
}

static bool all_there(const uint64_t *fed)
{
	for (uint32_t i = 0; i < PARTS; i++)
		if (fed[i] < request[i].bytes)
			return false;
	return true;
}

/* Counts the records of the shard that were indexed as they arrived. */
static uint64_t check_walk(const struct shard *shard, uint64_t size, uint64_t *ret_records)
{
	uint64_t at = 0, part = 0, found = 0, records = 0;
	struct tfrecord record;

	for (int r; (r = tfrecord_next(raw, size, at, UINT32_MAX, &record, NULL)) != -ENODATA;
	     at = record.next) {
		const struct arrival *run = arrival_at(shard, at, &part);

		for (uint64_t i = 0; run && i < run->records; i++) {
			assert_int_equal(tfrecord_next(raw, size, at, UINT32_MAX, &record, NULL), 0);
			assert_int_equal(run->record[i].offset, at + TFRECORD_HEADER_BYTES);
			assert_int_equal(run->record[i].bytes, record.bytes);
			assert_false(run->record[i].bad);
			at = record.next;
			found++;
			records++;
		}
		if (run) {
			assert_int_equal(run->at, at);
			record.next = at;
			continue;
		}
		records++;
		if (r == -EBADMSG)
			break;
	}
	*ret_records = records;
	return found;
}

static void whatever_comes_in_whatever_order(void **state)
{
	uint64_t found = 0, records = 0;

	(void)state;
	for (uint32_t round = 0; round < 100; round++) {
		uint32_t most = below(3) ? 3000 : below(2) ? 100 : 100000;
		uint64_t fed[PARTS] = { 0 }, all, size = write_records(most);
		struct shard shard;

		make_shard(&shard, size);
		while (!all_there(fed))
			deliver(fed);
		found += check_walk(&shard, size, &all);
		records += all;
	}
	/* The other records lie across the ends of ranges. */
	print_message("# %" PRIu64 " of %" PRIu64 " records as they arrived\n", found, records);
	assert_true(found > records * 9 / 10);
}

static void what_is_damaged_is_left_to_the_decoders(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 50; round++) {
		uint64_t fed[PARTS] = { 0 }, all, size = write_records(2000);
		struct shard shard;

		for (int i = 0; i < 4; i++)
			bytes[below((uint32_t)size)] ^= 1;
		make_shard(&shard, size);
		while (!all_there(fed))
			deliver(fed);
		(void)check_walk(&shard, size, &all);
	}
}

static void only_where_it_is_of_use(void **state)
{
	struct shard shard;
	uint64_t part = 0;

	(void)state;
	make_shard(&shard, write_records(100));
	assert_non_null(request[0].arrived);
	shard.plain = bytes; /* the shard turns out to be compressed */
	assert_null(arrival_at(&shard, 0, &part));
	shard.plan.key = "a.tfrecord.gz";
	request[0].arrived = NULL;
	arrival_expect(&shard, 0, true);
	assert_null(request[0].arrived);
	shard.plan.key = "a.tfrecord";
	arrival_expect(&shard, 0, false);
	assert_null(request[0].arrived);
	for (uint64_t i = 0; i < PARTS; i++)
		buffer_drop(&arrival[i].index);
	assert_int_equal(atomic_load(&budget.memory), 0);
	assert_true(arrival_pays(1, false));
	assert_false(arrival_pays(1, true));
	assert_false(arrival_pays(16, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_comes_in_whatever_order),
		cmocka_unit_test(what_is_damaged_is_left_to_the_decoders),
		cmocka_unit_test(only_where_it_is_of_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
