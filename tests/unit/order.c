/* SPDX-License-Identifier: Apache-2.0 */
#include "data/order.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VECTORS "tests/vectors/order.txt"

/* ---- Golden vectors, made by a second implementation (tests/vectors/order.py) ---- */

static uint64_t next_u64(char **at)
{
	return strtoull(*at, at, 10);
}

/* `given` has the arguments; `at` points after the colon. Returns how many values agreed. */
static int records_line(char *given, char *at)
{
	struct order_key key;
	uint64_t n, index;
	int count = 0;

	key.seed = next_u64(&given);
	key.pass = next_u64(&given);
	key.window = next_u64(&given);
	key.source = (uint32_t)next_u64(&given);
	key.lane = (uint32_t)next_u64(&given);
	n = next_u64(&given);
	index = next_u64(&given);
	for (; *at && *at != '\n'; count++)
		assert_int_equal(order_permute(&key, n, index++), next_u64(&at));
	return count;
}

static int shards_line(char *given, char *at)
{
	uint64_t seed = next_u64(&given);
	uint32_t source = (uint32_t)next_u64(&given);
	uint64_t pass = next_u64(&given), shards = next_u64(&given), position = next_u64(&given);
	int count = 0;

	for (; *at && *at != '\n'; count++)
		assert_int_equal(order_shard(seed, source, pass, shards, position++), next_u64(&at));
	return count;
}

static int source_line(char *given, char *at)
{
	uint64_t seed = next_u64(&given), pass = next_u64(&given), row = next_u64(&given);
	double weights[32];
	uint32_t sources = 0;
	int count = 0;

	while (strspn(given, " ") < strlen(given))
		weights[sources++] = strtod(given, &given);
	for (; *at && *at != '\n'; count++)
		assert_int_equal(order_source(seed, pass, row++, weights, sources), next_u64(&at));
	return count;
}

static int bits_line(char *given, char *at)
{
	uint64_t seed = next_u64(&given), source = next_u64(&given), pass = next_u64(&given),
		 shard = next_u64(&given);
	int count = 0;

	for (; *at && *at != '\n'; count++)
		assert_true(order_record_bits(seed, (uint32_t)source, pass, shard, next_u64(&given)) ==
			    next_u64(&at));
	return count;
}

static int objects_line(char *given, char *at)
{
	uint64_t seed = next_u64(&given), source = next_u64(&given), pass = next_u64(&given),
		 objects = next_u64(&given), lanes = next_u64(&given), lane = next_u64(&given),
		 row = next_u64(&given);
	int count = 0;

	for (; *at && *at != '\n'; count++)
		assert_int_equal(order_object(seed, (uint32_t)source, pass, objects, (uint32_t)lanes,
					      (uint32_t)lane, row++),
				 next_u64(&at));
	return count;
}

static void vectors(void **state)
{
	FILE *file = fopen(VECTORS, "re");
	char line[1024];
	int values = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':'), *given = strchr(line, ' ');

		if (*line == '#')
			continue;
		assert_non_null(colon);
		*colon++ = '\0';
		if (strncmp(line, "records ", 8) == 0)
			values += records_line(given, colon);
		else if (strncmp(line, "shards ", 7) == 0)
			values += shards_line(given, colon);
		else if (strncmp(line, "source ", 7) == 0)
			values += source_line(given, colon);
		else if (strncmp(line, "bits ", 5) == 0)
			values += bits_line(given, colon);
		else if (strncmp(line, "objects ", 8) == 0)
			values += objects_line(given, colon);
		else
			fail_msg("%s", line);
	}
	(void)fclose(file);
	assert_int_equal(values, 364); /* all values of the file */
}

/* ---- A permutation, in which no order is preferred ---- */

static void each_once(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 255, 257, 4097, 100000 };

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct order_key key = { .seed = seed, .pass = s };
			bool *seen = calloc(sizes[s], 1);

			for (uint64_t i = 0; i < sizes[s]; i++) {
				uint64_t to = order_permute(&key, sizes[s], i);

				assert_true(to < sizes[s] && !seen[to]);
				seen[to] = true;
			}
			free(seen);
		}
}

/* Returns the number of this permutation among the n! permutations (Lehmer code). */
static unsigned rank_of(const uint64_t *to, unsigned n)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned smaller = 0;

		for (unsigned j = i + 1; j < n; j++)
			smaller += to[j] < to[i];
		rank = rank * (n - i) + smaller;
	}
	return rank;
}

/* Returns chi-square divided by its degrees of freedom: about 1 for chance. The seeds are fixed, so the
 * result is fixed too. */
static double chi_square(const unsigned *count, unsigned cells, double expected, unsigned freedom)
{
	double sum = 0;

	for (unsigned i = 0; i < cells; i++)
		sum += (count[i] - expected) * (count[i] - expected) / expected;
	return sum / freedom;
}

/* The position of a shard, and the shard at a position, agree. */
static void positions_come_back(void **state)
{
	static const uint64_t large[] = { 1000, 4096, 4097, 1000000, 1u << 24 };

	(void)state;
	for (uint64_t n = 1; n <= 70; n++)
		for (uint64_t pass = 0; pass < 20; pass++)
			for (uint64_t i = 0; i < n; i++)
				assert_int_equal(
					order_shard_position(44, 1, pass, n, order_shard(44, 1, pass, n, i)),
					i);
	for (size_t k = 0; k < sizeof(large) / sizeof(large[0]); k++)
		for (uint64_t i = 0; i < 1000; i++)
			assert_int_equal(
				order_shard(7, 0, i, large[k], order_shard_position(7, 0, i, large[k], i)),
				i);
}

/* Runs of every length, from any start, equal the same steps one by one. */
static void runs_equal_single_ones(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 5, 17, 64, 500, 1025, 30000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct order_key key = { .seed = i, .pass = 3, .window = 7 };
		struct order_permutation permutation = order_permutation(&key, sizes[i]);
		uint64_t run[ORDER_RUN_MAX];
		uint32_t count = 0;

		for (uint64_t first = 0; first < sizes[i]; first += count) {
			count = (uint32_t)(first * 7 % ORDER_RUN_MAX + 1);
			if (count > sizes[i] - first)
				count = (uint32_t)(sizes[i] - first);
			order_permuted_run(&permutation, first, count, run);
			for (uint32_t k = 0; k < count; k++)
				assert_int_equal(run[k], order_permute(&key, sizes[i], first + k));
		}
	}
}

/* A few shards: every order is equally likely. */
static void small_orders_even(void **state)
{
	static unsigned count[720];
	unsigned orders = 1;

	(void)state;
	for (unsigned n = 2; n <= 6; n++) {
		unsigned draws = 720 * 200;

		orders *= n;
		memset(count, 0, sizeof(count));
		for (uint64_t seed = 0; seed < draws; seed++) {
			uint64_t to[6];

			for (unsigned i = 0; i < n; i++)
				to[i] = order_shard(seed, 0, 0, n, i);
			count[rank_of(to, n)]++;
		}
		assert_true(chi_square(count, orders, (double)draws / orders, orders - 1) <
			    (n < 5 ? 4 : 1.4));
	}
}

/* Every element is at every position equally often; neighbours stay neighbours only by chance. */
static void places_even(void **state)
{
	static const unsigned sizes[] = { 7, 16, 17, 45, 64, 65 };
	enum { DRAWS = 20000 };

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		unsigned n = sizes[s], *count = calloc((size_t)n * n, sizeof(*count)), neighbours = 0;

		for (uint64_t seed = 0; seed < DRAWS; seed++) {
			struct order_key key = { .seed = 44, .window = seed };
			uint64_t before = n;

			for (unsigned i = 0; i < n; i++) {
				uint64_t to = order_permute(&key, n, i);

				count[i * n + to]++;
				neighbours += to == before + 1;
				before = to;
			}
		}
		assert_true(chi_square(count, n * n, (double)DRAWS / n, (n - 1) * (n - 1)) < 1.3);
		assert_in_range(neighbours, DRAWS * 95 / 100 * (n - 1) / n, DRAWS * 105 / 100 * (n - 1) / n);
		free(count);
	}
}

static void keys_differ(void **state)
{
	const struct order_key base = { .seed = 44 };
	struct order_key other[] = { base, base, base, base, base };

	(void)state;
	other[0].seed++;
	other[1].pass++;
	other[2].window++;
	other[3].source++;
	other[4].lane++;
	for (size_t k = 0; k < sizeof(other) / sizeof(other[0]); k++) {
		unsigned equal = 0;

		for (uint64_t i = 0; i < 1000; i++)
			equal += order_permute(&base, 1000, i) == order_permute(&other[k], 1000, i);
		assert_in_range(equal, 0, 10);
	}
}

/* ---- Sources ---- */

static void sources_by_weight(void **state)
{
	static const double weights[] = { 1, 3, 0.5, 5.5 };
	unsigned count[4] = { 0 };

	(void)state;
	for (uint64_t row = 0; row < 100000; row++)
		count[order_source(44, 2, row, weights, 4)]++;
	for (int i = 0; i < 4; i++)
		assert_in_range(count[i], weights[i] * 9700, weights[i] * 10300);
}

/* ---- Lanes: every shard belongs to one window of one lane ---- */

static void shards_dealt(void **state)
{
	(void)state;
	for (uint64_t shards = 1; shards < 40; shards++)
		for (uint32_t lanes = 1; lanes <= 8; lanes++)
			for (uint64_t per_window = 1; per_window < 6; per_window++) {
				bool seen[40] = { false };
				uint64_t dealt = 0;

				for (uint32_t lane = 0; lane < lanes; lane++) {
					uint64_t left = order_lane_shards(shards, lanes, lane);
					uint64_t windows =
						order_lane_windows(shards, lanes, lane, per_window);

					for (uint64_t w = 0; w < windows; w++)
						for (uint64_t k = 0; k < per_window && left > 0;
						     k++, left--) {
							uint64_t p =
								order_position(lanes, lane, per_window, w, k);

							assert_true(p < shards && p % lanes == lane &&
								    !seen[p]);
							seen[p] = true;
							dealt++;
						}
					assert_int_equal(left, 0);
				}
				assert_int_equal(dealt, shards);
			}
}

/* With objects, row j of an epoch is the object at position j, for each number of lanes that divides a batch;
 * a window is what is loaded together and does not change the order. */
static void objects_do_not_depend_on_lanes(void **state)
{
	static const uint64_t windows[] = { 1, 3, 64, 1000 };
	enum { OBJECTS = 101 };

	(void)state;
	for (uint32_t lanes = 1; lanes <= 32; lanes++)
		for (uint64_t row = 0; row < OBJECTS; row++) {
			const uint32_t lane = order_row_lane(row, lanes);
			const uint64_t object = order_object(44, 0, 3, OBJECTS, lanes, lane, row / lanes);

			assert_int_equal(object, order_object(44, 0, 3, OBJECTS, 1, 0, row));
			for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
				const uint64_t w = windows[i], of_lane = row / lanes;

				assert_int_equal(object,
						 order_shard(44, 0, 3, OBJECTS,
							     order_position(lanes, lane, w, of_lane / w,
									    of_lane % w)));
			}
		}
}

/* ---- A run of several ranks whose number changes: each record counts exactly once ---- */

enum { SHARDS = 23, LANES = 6, PER_WINDOW = 2, BATCH = 50, RECORDS_MAX = 64 };

struct lane {
	uint64_t window, offset; /* as in struct cursor_place */
};

static uint64_t records_in(uint64_t shard)
{
	return 20 + shard * 7 % 41;
}

static uint64_t window_shards(uint32_t lane, uint64_t window)
{
	uint64_t left = order_lane_shards(SHARDS, LANES, lane) - window * PER_WINDOW;

	return left < PER_WINDOW ? left : PER_WINDOW;
}

/* Returns the next record of a lane, as shard * RECORDS_MAX + record; false at the end of the lane's pass. */
static bool lane_next(struct lane *at, uint32_t lane, uint64_t pass, uint64_t *ret_record)
{
	for (;; at->window++, at->offset = 0) {
		struct order_key key = { .seed = 44, .pass = pass, .lane = lane, .window = at->window };
		uint64_t records = 0, index, shard = 0;

		if (at->window == order_lane_windows(SHARDS, LANES, lane, PER_WINDOW))
			return false;
		for (uint64_t k = 0; k < window_shards(lane, at->window); k++)
			records += records_in(order_shard(
				44, 0, pass, SHARDS, order_position(LANES, lane, PER_WINDOW, at->window, k)));
		if (at->offset == records)
			continue;
		index = order_permute(&key, records, at->offset++);
		for (uint64_t k = 0;; k++) {
			shard = order_shard(44, 0, pass, SHARDS,
					    order_position(LANES, lane, PER_WINDOW, at->window, k));
			if (index < records_in(shard))
				break;
			index -= records_in(shard);
		}
		*ret_record = shard * RECORDS_MAX + index;
		return true;
	}
}

/* One global batch by `ranks` ranks: each fills the rows of its own lanes, independently. Adds up the
 * contents of each row, so that the batch can be compared across numbers of ranks. Returns the number of
 * filled rows. */
static unsigned batch_of(struct lane *place, uint32_t ranks, uint64_t pass, uint8_t *counted,
			 uint64_t row[BATCH])
{
	unsigned filled = 0;

	memset(row, 0xff, BATCH * sizeof(row[0]));
	for (uint32_t rank = ranks; rank-- > 0;)
		for (uint64_t j = 0; j < BATCH; j++) {
			uint32_t lane = order_row_lane(j, LANES);

			if (order_lane_rank(lane, LANES, ranks) == rank &&
			    lane_next(&place[lane], lane, pass, &row[j])) {
				counted[row[j]]++;
				filled++;
			}
		}
	return filled;
}

static void ranks_change(void **state)
{
	static const uint32_t changing[] = { 1, 4, 2, 6, 3, 5 };
	uint64_t total = 0;

	(void)state;
	for (uint64_t shard = 0; shard < SHARDS; shard++)
		total += records_in(shard);
	for (uint64_t pass = 0; pass < 3; pass++) {
		struct lane one[LANES] = { { 0 } }, many[LANES] = { { 0 } };
		uint8_t counted_one[SHARDS * RECORDS_MAX] = { 0 }, counted[SHARDS * RECORDS_MAX] = { 0 };
		uint64_t rows_one[BATCH], rows[BATCH];
		unsigned filled, sum = 0;

		for (uint64_t batch = 0; (filled = batch_of(one, 1, pass, counted_one, rows_one)) > 0;
		     batch++) {
			sum += filled;
			assert_int_equal(batch_of(many, changing[batch % 6], pass, counted, rows), filled);
			assert_memory_equal(rows, rows_one, sizeof(rows));
		}
		assert_int_equal(sum, total);
		for (uint64_t shard = 0; shard < SHARDS; shard++)
			for (uint64_t r = 0; r < RECORDS_MAX; r++)
				assert_int_equal(counted[shard * RECORDS_MAX + r], r < records_in(shard));
	}
}

/* ---- Which lanes a rank owns ---- */

enum { LANES_MAX = 32 };

/* Whether the lanes first .. first + count - 1 are a node of the tree over `size` lanes that begin at lane 0.
 */
static bool is_node(uint32_t size, uint32_t first, uint32_t count)
{
	uint32_t left = 1;

	if (first == 0 && count == size)
		return true;
	if (size < 2)
		return false;
	while (left * 2 < size)
		left *= 2;
	return first < left ? is_node(left, first, count) : is_node(size - left, first - left, count);
}

/* Tries all ways to divide ranks: returns the smallest possible largest node. */
static uint32_t smallest_most(uint32_t size, uint32_t ranks)
{
	static uint32_t known[LANES_MAX + 1][LANES_MAX + 1];
	uint32_t left = 1, *best = &known[size][ranks];

	if (ranks == 1 || *best > 0)
		return ranks == 1 ? size : *best;
	while (left * 2 < size)
		left *= 2;
	for (uint32_t at_left = 1; at_left < ranks; at_left++) {
		uint32_t a, b;

		if (at_left > left || ranks - at_left > size - left)
			continue;
		a = smallest_most(left, at_left);
		b = smallest_most(size - left, ranks - at_left);
		a = a > b ? a : b;
		*best = *best == 0 || a < *best ? a : *best;
	}
	return *best;
}

static void each_lane_has_one_rank(void **state)
{
	(void)state;
	for (uint32_t lanes = 1; lanes <= LANES_MAX; lanes++)
		for (uint32_t ranks = 1; ranks <= lanes; ranks++) {
			uint32_t next = 0, most = 0;

			for (uint32_t rank = 0; rank < ranks; rank++) {
				uint32_t first, count;

				order_rank_lanes(lanes, ranks, rank, &first, &count);
				assert_true(first == next && count > 0);
				assert_true(is_node(lanes, first, count));
				for (; next < first + count; next++)
					assert_int_equal(order_lane_rank(next, lanes, ranks), rank);
				most = count > most ? count : most;
			}
			assert_int_equal(next, lanes);
			assert_int_equal(most, smallest_most(lanes, ranks));
		}
}

/* Each row of a batch is in the slot of one rank, where its lane's rows lie side by side. */
static void rows_of_a_lane_lie_side_by_side(void **state)
{
	enum { ROWS = 5 }; /* of each lane */

	(void)state;
	for (uint32_t lanes = 1; lanes <= LANES_MAX; lanes++)
		for (uint32_t ranks = 1; ranks <= lanes; ranks++) {
			bool seen[ROWS * LANES_MAX] = { false };

			for (uint32_t rank = 0; rank < ranks; rank++) {
				const struct order_part part =
					order_part(lanes, ranks, rank, (uint64_t)ROWS * lanes);

				assert_int_equal(part.lane_rows, ROWS);
				for (uint32_t row = 0; row < part.own * ROWS; row++) {
					const uint64_t global = order_batch_row(&part, row);

					assert_int_equal(order_row_lane(global, lanes),
							 part.first + row / ROWS);
					assert_int_equal(global / lanes, row % ROWS);
					assert_int_equal(order_slot_row(&part, global), row);
					assert_false(seen[global]);
					seen[global] = true;
				}
			}
			for (uint32_t row = 0; row < ROWS * lanes; row++)
				assert_true(seen[row]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(each_once),
		cmocka_unit_test(positions_come_back),
		cmocka_unit_test(runs_equal_single_ones),
		cmocka_unit_test(small_orders_even),
		cmocka_unit_test(places_even),
		cmocka_unit_test(keys_differ),
		cmocka_unit_test(sources_by_weight),
		cmocka_unit_test(shards_dealt),
		cmocka_unit_test(objects_do_not_depend_on_lanes),
		cmocka_unit_test(ranks_change),
		cmocka_unit_test(each_lane_has_one_rank),
		cmocka_unit_test(rows_of_a_lane_lie_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
