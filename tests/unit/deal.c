/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a batch, dealt to lanes, ranks and sources: each row exactly once, and the same ones whatever the
 * number of ranks. */
#include "fetchd/produce/deal.c" // NOLINT(bugprone-suspicious-include): its statics

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROWS_MAX 256u

static struct streams streams;
static struct plan_settings settings;
static struct fetch fetch = { .settings = &settings, .streams = &streams };
static struct producer producer = { .fetch = &fetch };
static uint32_t dealt[2 * ROWS_MAX];
static bool over[CURSOR_PLACES_MAX]; /* lanes of this rank without further rows */

bool segment_lane_is_over(const struct producer *of, uint32_t own)
{
	(void)of;
	return over[own];
}

static void be(uint32_t rank, uint32_t world, uint32_t lanes, uint32_t sources, uint64_t batch_rows)
{
	memset(&streams, 0, sizeof(streams));
	memset(over, 0, sizeof(over));
	settings = (struct plan_settings){ .seed = 44,
					   .lanes = lanes,
					   .sources = sources,
					   .batch_rows = batch_rows,
					   .weight = { 1, 0.5, 2 } };
	fetch.part = order_part(lanes, world, rank, batch_rows);
	for (uint32_t source = 0; source < sources; source++)
		for (uint32_t own = 0; own < fetch.part.own; own++) {
			struct stream *stream = &streams.stream[streams.count++];

			stream->source = source;
			stream->lane = fetch.part.first + own;
		}
	streams.lanes = fetch.part.own;
	producer = (struct producer){ .fetch = &fetch };
}

/* The index in the global batch of a row of this rank. */
static uint32_t global_of(uint32_t row)
{
	return (uint32_t)order_batch_row(&fetch.part, row);
}

/* Notes each row that a share of this rank may give, once, at the place that its lane's rows have. */
static void see_share(uint32_t i, uint32_t rows, bool seen[ROWS_MAX])
{
	const struct share *share = &producer.batch.share[i];
	const uint32_t first = i % streams.lanes * fetch.part.lane_rows;

	for (uint32_t k = 0; k < share->limit; k++) {
		uint32_t row = share_row(share, k), global = global_of(row);

		assert_true(row < producer.batch.rows && global < rows);
		assert_int_equal(global % fetch.part.lanes, streams.stream[i].lane);
		assert_int_equal(row, first + global / fetch.part.lanes);
		assert_int_equal(row, order_slot_row(&fetch.part, global));
		assert_false(seen[global]);
		seen[global] = true;
	}
}

static void each_row_has_one_lane_and_one_rank(void **state)
{
	(void)state;
	for (uint32_t lanes = 1; lanes <= 6; lanes++)
		for (uint32_t world = 1; world <= lanes; world++)
			for (uint32_t rows = 0; rows <= 3 * lanes; rows++) {
				bool seen[ROWS_MAX] = { false };
				uint32_t slots = 0;

				for (uint32_t rank = 0; rank < world; rank++) {
					be(rank, world, lanes, 1, (uint64_t)3 * lanes);
					deal_rows(&producer, rows, dealt);
					slots += producer.batch.rows;
					for (uint32_t i = 0; i < streams.count; i++)
						see_share(i, rows, seen);
				}
				assert_int_equal(slots, lanes == 1 ? rows : 3 * lanes);
				for (uint32_t row = 0; row < rows; row++)
					assert_true(seen[row]);
			}
}

/* Deals a batch of `rows` rows; source[j] is the source of global row j, where it is this rank's. */
static void draw(uint32_t rows, uint32_t *source)
{
	uint32_t sum = 0;

	deal_rows(&producer, rows, dealt);
	for (uint32_t i = 0; i < streams.count; i++) {
		const struct share *share = &producer.batch.share[i];

		sum += share->rows;
		for (uint32_t k = 0; k < share->limit; k++) {
			uint32_t row = share_row(share, k);

			assert_true(k == 0 || row > share_row(share, k - 1));
			assert_int_equal(row / fetch.part.lane_rows, i % streams.lanes);
			source[global_of(row)] = streams.stream[i].source;
		}
	}
	assert_int_equal(sum, producer.batch.rows);
}

static void sources_are_drawn_alike_by_any_ranks(void **state)
{
	uint32_t one[ROWS_MAX], several[ROWS_MAX], drawn[3] = { 0 };

	(void)state;
	be(0, 1, 4, 3, ROWS_MAX);
	draw(ROWS_MAX, one);
	for (uint32_t j = 0; j < ROWS_MAX; j++) {
		assert_int_equal(one[j], order_source(44, 0, j, settings.weight, 3));
		drawn[one[j]]++;
	}
	assert_true(drawn[2] > drawn[0] && drawn[0] > drawn[1]);
	for (uint32_t rank = 0; rank < 3; rank++) {
		be(rank, 3, 4, 3, ROWS_MAX);
		draw(ROWS_MAX, several);
	}
	assert_memory_equal(one, several, sizeof(one));
}

/* Rows that are passed over count: a batch after them is drawn as in a run that trains on them. */
static void draws_go_on_from_batch_to_batch(void **state)
{
	uint32_t whole[ROWS_MAX], part[ROWS_MAX];

	(void)state;
	be(0, 1, 2, 3, 128);
	draw(128, whole);
	producer.cursor.rows = 50;
	draw(78, part);
	assert_memory_equal(part, whole + 50, 78 * sizeof(*part));
	producer.cursor.rows = 0;
	settings.skip_rows = 100;
	producer.pass_over = 100; /* nothing passed over yet */
	draw(100, part);
	assert_memory_equal(part, whole, 100 * sizeof(*part));
	producer.pass_over = 0;
	draw(28, part);
	assert_memory_equal(part, whole + 100, 28 * sizeof(*part));
	producer.cursor.segment = 1;
	draw(28, part);
	assert_memory_not_equal(part, whole + 100, 28 * sizeof(*part));
}

static void rows_of_a_share_below(void **state)
{
	static const uint32_t list[] = { 2, 3, 9 };
	const struct share block = { .first = 5, .rows = 4 }; /* 5, 6, 7, 8 */
	const struct share rows = { .row = list, .rows = 3 }, none = { 0 };

	(void)state;
	assert_int_equal(share_below(&none, 0), 0);
	assert_int_equal(share_below(&none, 9), 0);
	assert_int_equal(share_below(&block, 0), 0);
	assert_int_equal(share_below(&block, 5), 0);
	assert_int_equal(share_below(&block, 6), 1);
	assert_int_equal(share_below(&block, 8), 3);
	assert_int_equal(share_below(&block, 9), 4);
	assert_int_equal(share_below(&block, UINT32_MAX), 4);
	assert_int_equal(share_below(&rows, 2), 0);
	assert_int_equal(share_below(&rows, 3), 1);
	assert_int_equal(share_below(&rows, 9), 2);
	assert_int_equal(share_below(&rows, 10), 3);
}

static void a_lane_that_ends_ends_all_its_sources(void **state)
{
	uint32_t left = 0;

	(void)state;
	be(0, 1, 2, 3, 64);
	deal_rows(&producer, 64, dealt);
	deal_end(&producer, 1, 42);
	for (uint32_t i = 0; i < streams.count; i++) {
		const struct share *share = &producer.batch.share[i];

		if (streams.stream[i].lane == 0) {
			assert_int_equal(share->limit, share->rows);
			continue;
		}
		left += share->limit;
		assert_true(share->limit == 0 || share_row(share, share->limit - 1) < 42);
		assert_true(share->limit == share->rows || share_row(share, share->limit) >= 42);
	}
	assert_int_equal(left, 10); /* rows 32 .. 41 of the slot */
}

static void a_lane_that_is_over_gets_no_rows(void **state)
{
	(void)state;
	be(0, 1, 2, 1, 8);
	over[0] = true;
	deal_rows(&producer, 7, dealt);
	assert_int_equal(producer.batch.share[0].rows, 4);
	assert_int_equal(producer.batch.share[0].limit, 0);
	assert_int_equal(producer.batch.share[1].limit, 3);
}

static void rows_up_to_the_last_one_given(void **state)
{
	(void)state;
	be(0, 1, 3, 1, 9);
	deal_rows(&producer, 9, dealt);
	assert_int_equal(deal_rows_given(&producer), 9);
	for (uint32_t i = 0; i < 3; i++)
		producer.batch.share[i].limit = 0;
	assert_int_equal(deal_rows_given(&producer), 0);
	producer.batch.share[1].limit = 1;
	assert_int_equal(deal_rows_given(&producer), 2);
	producer.batch.share[0].limit = 3; /* rows 0, 3, 6 of the batch */
	assert_int_equal(deal_rows_given(&producer), 7);
}

static void an_evaluation_has_a_share_for_each_lane(void **state)
{
	(void)state;
	be(0, 2, 3, 2, 12); /* lanes 0 and 1 */
	deal_evaluation(&producer, 12);
	assert_int_equal(producer.batch.global_rows, 12);
	assert_int_equal(producer.batch.rows, 8);
	assert_int_equal(producer.batch.share[0].limit, 4);
	assert_int_equal(producer.batch.share[1].limit, 4);
	assert_int_equal(share_row(&producer.batch.share[1], 2), 6);
	assert_int_equal(producer.batch.share[2].rows, 0);
	be(0, 1, 1, 2, 12);
	deal_evaluation(&producer, 12);
	assert_int_equal(producer.batch.share[0].limit, 12);
	assert_int_equal(producer.batch.share[1].rows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_has_one_lane_and_one_rank),
		cmocka_unit_test(sources_are_drawn_alike_by_any_ranks),
		cmocka_unit_test(draws_go_on_from_batch_to_batch),
		cmocka_unit_test(rows_of_a_share_below),
		cmocka_unit_test(a_lane_that_ends_ends_all_its_sources),
		cmocka_unit_test(a_lane_that_is_over_gets_no_rows),
		cmocka_unit_test(rows_up_to_the_last_one_given),
		cmocka_unit_test(an_evaluation_has_a_share_for_each_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
