/* SPDX-License-Identifier: Apache-2.0 */
/* A world of 1, chunks, sums, and what is refused. tests/system/ranks.sh has larger worlds. */
#include "drivers/ranks/ranks.h"

#include "data/order.h"
#include "drivers/ranks/bfloat16.h"
#include "drivers/ranks/sum.h"
#include "tests/short_numbers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define WORLD_MAX 9u
#define COUNT_MAX 2500u

static void alone(void **state)
{
	CLEANUP(ranks_closep) struct ranks *ranks = NULL;
	const struct ranks_wish wish = { .world = 1, .patience_s = 1, .same = "", .library = "/nowhere" };
	float values[3] = { 1, 2, 3 }, before[3] = { 1, 2, 3 };
	const struct ranks_values bucket = { .type = RANKS_FLOAT32, .values = values, .count = 3 };
	uint64_t ticket;
	uint32_t record = 7, all = 0;

	(void)state;
	assert_int_equal(ranks_open(&wish, &ranks, NULL), 0);
	assert_int_equal(ranks_world(ranks), 1);
	assert_int_equal(ranks_rank(ranks), 0);
	assert_int_equal(ranks_boxes(ranks), 1);
	assert_true(*ranks_where(ranks, 0)->host);
	assert_int_equal(ranks_reduce_start(ranks, &bucket, &ticket, NULL), 0);
	assert_int_equal(ranks_wait(ranks, ticket, NULL), 0);
	assert_int_equal(ranks_spread_start(ranks, &bucket, &ticket, NULL), 0);
	assert_int_equal(ranks_wait(ranks, ticket, NULL), 0);
	assert_int_equal(ranks_broadcast(ranks, values, sizeof(values), 0, NULL), 0);
	assert_int_equal(ranks_gather(ranks, &record, sizeof(record), &all, NULL), 0);
	assert_int_equal(ranks_barrier(ranks, NULL), 0);
	assert_int_equal(all, 7);
	assert_memory_equal(values, before, sizeof(values));
}

static void chunks_cover_all_elements_once(void **state)
{
	(void)state;
	for (uint32_t world = 1; world <= WORLD_MAX; world++) {
		for (uint64_t count = 0; count < COUNT_MAX; count += count < 200 ? 1 : 97) {
			uint64_t next = 0;

			for (uint32_t rank = 0; rank < world; rank++) {
				const struct ranks_chunk chunk = ranks_chunk(count, world, rank);

				assert_int_equal(chunk.first, next);
				assert_true(chunk.count == 0 || chunk.first % 16 == 0);
				next += chunk.count;
			}
			assert_int_equal(next, count);
		}
	}
}

/* The sum of the ranks from `first` on, of which `ranks` is a power of two: the tree as its definition says.
 */
static float tree(float values[WORLD_MAX][COUNT_MAX], uint32_t world, uint32_t first, uint32_t ranks,
		  size_t i)
{
	const uint32_t right = first + ranks / 2;

	if (ranks == 1)
		return values[first][i];
	if (right >= world)
		return tree(values, world, first, ranks / 2, i);
	return tree(values, world, first, ranks / 2, i) + tree(values, world, right, ranks / 2, i);
}

static void fill(float values[WORLD_MAX][COUNT_MAX])
{
	uint32_t state = 44;

	for (uint32_t rank = 0; rank < WORLD_MAX; rank++) {
		for (size_t i = 0; i < COUNT_MAX; i++) {
			state = state * 1664525u + 1013904223u;
			values[rank][i] =
				ldexpf((float)state / 4294967296.0f - 0.5f, (int)(state % 40u) - 20);
		}
	}
	values[1][0] = -INFINITY;
	values[0][1] = -0.0f;
	values[1][1] = -0.0f;
}

static void a_sum_is_that_of_the_tree(void **state)
{
	static float values[WORLD_MAX][COUNT_MAX], copy[WORLD_MAX][COUNT_MAX];

	(void)state;
	fill(values);
	for (uint32_t world = 2; world <= WORLD_MAX; world++) {
		for (uint32_t own = 0; own < world; own++) {
			float *in[WORLD_MAX];
			struct sum_step steps[WORLD_MAX];

			assert_true(sum_steps(NULL, world, steps));
			memcpy(copy, values, sizeof(copy));
			for (uint32_t rank = 0; rank < world; rank++)
				in[rank] = copy[rank];
			sum_tree(in, steps, world, in[own], COUNT_MAX);
			for (size_t i = 0; i < COUNT_MAX; i++) {
				const float expected = tree(values, world, 0, 16, i);

				assert_memory_equal(&copy[own][i], &expected, sizeof(expected));
			}
		}
	}
}

/* Adds the lanes in as many ranks as there may be: each rank its own, as a model does, then the ranks. */
static void the_sum_of_lanes_is_the_same_for_any_world(void **state)
{
	static float values[WORLD_MAX][COUNT_MAX], copy[WORLD_MAX][COUNT_MAX];

	(void)state;
	fill(values);
	for (uint32_t lanes = 1; lanes <= WORLD_MAX; lanes++) {
		for (uint32_t world = 1; world <= lanes; world++) {
			struct sum_step steps[WORLD_MAX];
			uint32_t own[WORLD_MAX];
			float *in[WORLD_MAX];

			memcpy(copy, values, sizeof(copy));
			for (uint32_t rank = 0; rank < world; rank++) {
				float *lane[WORLD_MAX];
				uint32_t first;

				order_rank_lanes(lanes, world, rank, &first, &own[rank]);
				for (uint32_t k = 0; k < own[rank]; k++)
					lane[k] = copy[first + k];
				assert_true(sum_steps(NULL, own[rank], steps));
				sum_tree(lane, steps, own[rank], lane[0], COUNT_MAX);
				in[rank] = lane[0];
			}
			assert_true(sum_steps(own, world, steps));
			sum_tree(in, steps, world, in[0], COUNT_MAX);
			for (size_t i = 0; i < COUNT_MAX; i++) {
				const float expected = tree(values, lanes, 0, 16, i);

				assert_memory_equal(&copy[0][i], &expected, sizeof(expected));
			}
		}
	}
}

static const uint32_t beyond[] = { 3, 1 }; /* no node of the tree of 4 lanes has 3 */

static void lanes_that_are_no_node(void **state)
{
	static const uint32_t apart[] = { 1, 2, 1 }, none[] = { 2, 0, 2 };
	struct sum_step steps[3];

	(void)state;
	assert_false(sum_steps(apart, 3, steps));
	assert_false(sum_steps(none, 3, steps));
	assert_false(sum_steps(beyond, 2, steps));
}

/* Else the test above could not tell a tree from a row. */
static void another_order_has_another_sum(void **state)
{
	static float values[WORLD_MAX][COUNT_MAX];
	size_t differ = 0;

	(void)state;
	fill(values);
	for (size_t i = 0; i < COUNT_MAX; i++) {
		const float row = values[0][i] + values[1][i] + values[2][i] + values[3][i];

		differ += row != tree(values, 4, 0, 4, i);
	}
	assert_true(differ > COUNT_MAX / 20);
}

static void nan_stays(void **state)
{
	float values[3][5] = { { 1, NAN, 3, 4, 5 }, { 1, 2, NAN, 4, 5 }, { 1, 2, 3, 4, NAN } };
	float *in[3] = { values[0], values[1], values[2] };
	struct sum_step steps[3];

	(void)state;
	assert_true(sum_steps(NULL, 3, steps));
	sum_tree(in, steps, 3, values[1], 5);
	assert_true(values[1][0] == 3.0f && values[1][3] == 12.0f);
	assert_true(isnan(values[1][1]) && isnan(values[1][2]) && isnan(values[1][4]));
}

/* ---- bfloat16 ---- */

#define LOWER_HALVES 6u

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static void check_rounding(float x, uint16_t narrowed, float rounded)
{
	const float back = short_float(DTYPE_BF16, narrowed);

	assert_int_equal(bits_of(rounded), bits_of(back));
	if (isnan(x))
		assert_true(isnan(back) && !signbit(back) == !signbit(x));
	else
		assert_int_equal(bits_of(back), bits_of(nearest_bfloat16(x)));
}

/* Each upper half, with the lower halves next to where the result changes. */
static void a_value_is_rounded_to_the_nearest(void **state)
{
	static const uint32_t lower[LOWER_HALVES] = { 0, 1, 0x7fff, 0x8000, 0x8001, 0xffff };
	float in[LOWER_HALVES], rounded[LOWER_HALVES];
	uint16_t narrowed[LOWER_HALVES];

	(void)state;
	for (uint32_t upper = 0; upper <= UINT16_MAX; upper++) {
		for (uint32_t i = 0; i < LOWER_HALVES; i++) {
			const uint32_t bits = upper << 16 | lower[i];

			memcpy(&in[i], &bits, sizeof(bits));
		}
		bfloat16_narrow(narrowed, in, LOWER_HALVES);
		bfloat16_round(rounded, in, LOWER_HALVES);
		for (uint32_t i = 0; i < LOWER_HALVES; i++)
			check_rounding(in[i], narrowed[i], rounded[i]);
	}
}

/* Any count, at any address of a value, and nothing behind the last value. */
static void any_count_is_converted(void **state)
{
	static float values[WORLD_MAX][COUNT_MAX];

	(void)state;
	fill(values);
	for (size_t first = 0; first < 4; first++) {
		for (size_t count = 0; count < 40; count++) {
			uint16_t narrowed[48] = { 0 };
			float rounded[48] = { 0 }, widened[48] = { 0 };

			bfloat16_narrow(narrowed + first, values[3] + first, count);
			bfloat16_round(rounded + first, values[3] + first, count);
			bfloat16_widen(widened + first, narrowed + first, count);
			for (size_t i = 0; i < 48; i++) {
				const bool inside = i - first < count;
				const float expected = inside ? nearest_bfloat16(values[3][i]) : 0;

				assert_int_equal(bits_of(rounded[i]), bits_of(expected));
				assert_int_equal(narrowed[i], bits_of(expected) >> 16);
				assert_int_equal(bits_of(widened[i]), bits_of(expected));
			}
		}
	}
}

/* Rounds and adds as ranks do, and compares with the sum of the values before. */
static void the_error_is_below_its_bound(void **state)
{
	static float values[WORLD_MAX][COUNT_MAX], copy[WORLD_MAX][COUNT_MAX];
	float sums[COUNT_MAX], spread[COUNT_MAX];

	(void)state;
	fill(values);
	for (uint32_t world = 2; world <= WORLD_MAX; world++) {
		const double bound = 0x1p-8 + 0x1p-23 * ceil(log2(world));
		struct sum_step steps[WORLD_MAX];
		float *in[WORLD_MAX];

		assert_true(sum_steps(NULL, world, steps));
		for (uint32_t rank = 0; rank < world; rank++) {
			in[rank] = copy[rank];
			bfloat16_round(copy[rank], values[rank], COUNT_MAX);
		}
		sum_tree(in, steps, world, sums, COUNT_MAX);
		bfloat16_round(spread, sums, COUNT_MAX);
		for (size_t i = 1; i < COUNT_MAX; i++) { /* the first sum is infinite */
			double exact = 0, magnitudes = 0;

			for (uint32_t rank = 0; rank < world; rank++) {
				exact += (double)values[rank][i];
				magnitudes += fabs((double)values[rank][i]);
			}
			assert_true(fabs((double)sums[i] - exact) <= bound * magnitudes);
			assert_true(fabs((double)spread[i] - (double)sums[i]) <=
				    0x1p-8 * fabs((double)sums[i]));
		}
	}
}

static void refused(void **state)
{
	static const struct {
		const char *label;
		struct ranks_wish wish;
		int code;
		const char *text;
	} cases[] = {
		{ "no rank", { .world = 0, .patience_s = 1, .same = "" }, -EINVAL, "a world of 0 ranks" },
		{ "too many", { .world = RANKS_MAX + 1, .patience_s = 1, .same = "" }, -EINVAL, "1 to 1024" },
		{ "no patience", { .world = 2, .patience_s = 0, .same = "" }, -EINVAL, "patience of 0 s" },
		{ "lanes of no node",
		  { .world = 2, .patience_s = 1, .same = "", .lanes = beyond },
		  -EINVAL,
		  "no node of the tree" },
		{ "no library",
		  { .world = 2, .patience_s = 1, .same = "", .library = "/nowhere/kiln-ranks.so" },
		  -ENOENT,
		  "/nowhere/kiln-ranks.so: cannot open shared object file: No such file or directory; "
		  "install the "
		  "package openmpi-bin" },
		{ "another library",
		  { .world = 2, .patience_s = 1, .same = "", .library = "libm.so.6" },
		  -EINVAL,
		  "libm.so.6: version 0 of its table, expected 1" },
		{ "beside the program",
		  { .world = 2, .patience_s = 1, .same = "" },
		  -ENOENT,
		  "/unit/kiln-ranks.so" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ranks *ranks = NULL;
		struct error err = { 0 };

		assert_int_equal(ranks_open(&cases[i].wish, &ranks, &err), cases[i].code);
		assert_non_null(strstr(err.text, cases[i].text));
		assert_null(ranks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(chunks_cover_all_elements_once),
		cmocka_unit_test(a_sum_is_that_of_the_tree),
		cmocka_unit_test(the_sum_of_lanes_is_the_same_for_any_world),
		cmocka_unit_test(lanes_that_are_no_node),
		cmocka_unit_test(another_order_has_another_sum),
		cmocka_unit_test(nan_stays),
		cmocka_unit_test(a_value_is_rounded_to_the_nearest),
		cmocka_unit_test(any_count_is_converted),
		cmocka_unit_test(the_error_is_below_its_bound),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
