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

static void be(uint32_t rank, uint32_t world, uint32_t lanes, uint32_t sources)
{
	uint32_t first, count;

	order_rank_lanes(lanes, world, rank, &first, &count);
	memset(&streams, 0, sizeof(streams));
	memset(over, 0, sizeof(over));
	settings = (struct plan_settings){
		.seed = 44, .lanes = lanes, .sources = sources, .weight = { 1, 0.5, 2 }
	};
	fetch.rank = rank;
	fetch.world = world;
	for (uint32_t source = 0; source < sources; source++)
		for (uint32_t own = 0; own < count; own++) {
			struct stream *stream = &streams.stream[streams.count++];

			stream->source = source;
			stream->lane = first + own;
		}
	streams.lanes = count;
	producer = (struct producer){ .fetch = &fetch };
}

/* The index in the global batch of a row of this rank. */
static uint32_t global_of(uint32_t row)
{
	return (uint32_t)deal_global(&producer, row) - 1;
}

static void each_row_has_one_lane_and_one_rank(void **state)
{
	(void)state;
	for (uint32_t lanes = 1; lanes <= 6; lanes++)
		for (uint32_t world = 1; world <= lanes; world++)
			for (uint32_t rows = 0; rows <= 3 * lanes + 1; rows++) {
				bool seen[ROWS_MAX] = { false };
				uint32_t sum = 0;

				for (uint32_t rank = 0; rank < world; rank++) {
					be(rank, world, lanes, 1);
					deal_rows(&producer, rows, dealt);
					sum += producer.batch.rows;
					for (uint32_t i = 0; i < streams.count; i++)
						for (uint32_t k = 0; k < producer.batch.share[i].rows; k++) {
							uint32_t row = share_row(&producer.batch.share[i], k);

							assert_true(row < producer.batch.rows);
							assert_true(global_of(row) < rows);
							assert_int_equal(global_of(row) % lanes,
									 streams.stream[i].lane);
							assert_false(seen[global_of(row)]);
							seen[global_of(row)] = true;
						}
				}
				assert_int_equal(sum, rows);
			}
}

/* Deals a batch of `rows` rows; source[j] is the source of global row j, where it is this rank's. */
static void draw(uint32_t rows, uint32_t *source)
{
	uint32_t sum = 0;

	deal_rows(&producer, rows, dealt);
	for (uint32_t i = 0; i < streams.count; i++) {
		const struct share *share = &producer.batch.share[i];

		assert_int_equal(share->limit, share->rows);
		sum += share->rows;
		for (uint32_t k = 0; k < share->rows; k++) {
			uint32_t row = share_row(share, k);

			assert_true(k == 0 || row > share_row(share, k - 1));
			assert_int_equal(row % streams.lanes, i % streams.lanes);
			source[global_of(row)] = streams.stream[i].source;
		}
	}
	assert_int_equal(sum, producer.batch.rows);
}

static void sources_are_drawn_alike_by_any_ranks(void **state)
{
	uint32_t one[ROWS_MAX], several[ROWS_MAX], drawn[3] = { 0 };

	(void)state;
	be(0, 1, 4, 3);
	draw(ROWS_MAX, one);
	for (uint32_t j = 0; j < ROWS_MAX; j++) {
		assert_int_equal(one[j], order_source(44, 0, j, settings.weight, 3));
		drawn[one[j]]++;
	}
	assert_true(drawn[2] > drawn[0] && drawn[0] > drawn[1]);
	for (uint32_t rank = 0; rank < 3; rank++) {
		be(rank, 3, 4, 3);
		draw(ROWS_MAX, several);
	}
	assert_memory_equal(one, several, sizeof(one));
}

/* Rows that are passed over count: a batch after them is drawn as in a run that trains on them. */
static void draws_go_on_from_batch_to_batch(void **state)
{
	uint32_t whole[ROWS_MAX], part[ROWS_MAX];

	(void)state;
	be(0, 1, 2, 3);
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
	const struct share stride = { .first = 1, .stride = 3, .rows = 4 }; /* 1, 4, 7, 10 */
	const struct share rows = { .row = list, .rows = 3 }, none = { .stride = 1 };

	(void)state;
	assert_int_equal(share_below(&none, 0), 0);
	assert_int_equal(share_below(&none, 9), 0);
	assert_int_equal(share_below(&stride, 0), 0);
	assert_int_equal(share_below(&stride, 1), 0);
	assert_int_equal(share_below(&stride, 2), 1);
	assert_int_equal(share_below(&stride, 10), 3);
	assert_int_equal(share_below(&stride, 11), 4);
	assert_int_equal(share_below(&stride, UINT32_MAX), 4);
	assert_int_equal(share_below(&rows, 2), 0);
	assert_int_equal(share_below(&rows, 3), 1);
	assert_int_equal(share_below(&rows, 9), 2);
	assert_int_equal(share_below(&rows, 10), 3);
}

static void a_lane_that_ends_ends_all_its_sources(void **state)
{
	uint32_t left = 0;

	(void)state;
	be(0, 1, 2, 3);
	deal_rows(&producer, 64, dealt);
	deal_end(&producer, 1, 20);
	for (uint32_t i = 0; i < streams.count; i++) {
		const struct share *share = &producer.batch.share[i];

		if (streams.stream[i].lane == 0) {
			assert_int_equal(share->limit, share->rows);
			continue;
		}
		left += share->limit;
		assert_true(share->limit == 0 || share_row(share, share->limit - 1) < 20);
		assert_true(share->limit == share->rows || share_row(share, share->limit) >= 20);
	}
	assert_int_equal(left, 10); /* rows 1, 3 .. 19 */
}

static void a_lane_that_is_over_gets_no_rows(void **state)
{
	(void)state;
	be(0, 1, 2, 1);
	over[0] = true;
	deal_rows(&producer, 7, dealt);
	assert_int_equal(producer.batch.share[0].rows, 4);
	assert_int_equal(producer.batch.share[0].limit, 0);
	assert_int_equal(producer.batch.share[1].limit, 3);
}

static void rows_up_to_the_last_one_given(void **state)
{
	(void)state;
	be(0, 1, 3, 1);
	deal_rows(&producer, 9, dealt);
	assert_int_equal(deal_rows_given(&producer), 0);
	producer.batch.share[1].given = 1;
	assert_int_equal(deal_rows_given(&producer), 2);
	producer.batch.share[0].given = 3; /* rows 0, 3, 6 */
	assert_int_equal(deal_rows_given(&producer), 7);
	producer.batch.share[1].given = 3;
	producer.batch.share[2].given = 3;
	assert_int_equal(deal_rows_given(&producer), 9);
}

static void an_evaluation_has_one_share(void **state)
{
	(void)state;
	be(1, 2, 3, 2); /* lane 1 alone */
	deal_evaluation(&producer, 10);
	assert_int_equal(producer.batch.global_rows, 10);
	assert_int_equal(producer.batch.rows, 3); /* rows 1, 4, 7 of the global batch */
	assert_int_equal(producer.batch.share[0].limit, 3);
	assert_int_equal(share_row(&producer.batch.share[0], 2), 2);
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
		cmocka_unit_test(an_evaluation_has_one_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
