/* SPDX-License-Identifier: Apache-2.0 */
#include "model/graph/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define assert_near(a, b, tolerance) assert_true(fabs((double)(a) - (double)(b)) <= (tolerance))

/* Random123's known answers for philox4x32-10. */
static void test_philox(void **state)
{
	static const struct {
		uint32_t counter[4];
		uint64_t key;
		uint32_t word[4];
	} cases[] = {
		{ { 0, 0, 0, 0 }, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u }, ~UINT64_C(0), { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  UINT64_C(0x299f31d0a4093822),
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct philox words = philox(cases[i].counter, cases[i].key);

		assert_memory_equal(words.word, cases[i].word, sizeof(words.word));
	}
}

static void test_initializers(void **state)
{
	const uint64_t shape[] = { 100, 50 };
	const double limit = sqrt(6.0 / 150);
	float first[5000], again[5000], other[5000];
	double sum = 0, squares = 0;

	(void)state;
	initializer_fill("glorot_uniform", 44, "dense/kernel", 2, shape, 5000, first);
	initializer_fill("glorot_uniform", 44, "dense/kernel", 2, shape, 5000, again);
	initializer_fill("glorot_uniform", 44, "dense_1/kernel", 2, shape, 5000, other);
	assert_memory_equal(first, again, sizeof(first));
	assert_memory_not_equal(first, other, sizeof(first));
	for (uint32_t i = 0; i < 5000; i++) {
		assert_true(fabs((double)first[i]) <= limit);
		sum += (double)first[i];
		squares += (double)first[i] * (double)first[i];
	}
	assert_near(sum / 5000, 0, limit / 30);
	assert_near(squares / 5000, limit * limit / 3, limit * limit / 30);
	initializer_fill("zeros", 44, "dense/bias", 1, shape, 100, first);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(first[i] == 0);
}

/* Each distribution has mean 0 and Keras's deviation, for fans of HWIO kernels, too; and the right limits. */
static void test_initializer_spreads(void **state)
{
	static const uint64_t flat[] = { 100, 50 }, hwio[] = { 3, 3, 16, 32 };
	static const struct {
		const char *name;
		double of_flat, of_hwio, most; /* deviations; most: largest value, in deviations */
	} cases[] = {
		{ "glorot_uniform", 2.0 / 150, 2.0 / (9 * 48), 1.7320509 },
		{ "glorot_normal", 2.0 / 150, 2.0 / (9 * 48), 2 / 0.8796256 },
		{ "he_uniform", 2.0 / 100, 2.0 / 144, 1.7320509 },
		{ "he_normal", 2.0 / 100, 2.0 / 144, 2 / 0.8796256 },
		{ "lecun_uniform", 1.0 / 100, 1.0 / 144, 1.7320509 },
		{ "lecun_normal", 1.0 / 100, 1.0 / 144, 2 / 0.8796256 },
		{ "random_normal", 0.0025, 0.0025, 6 },
		{ "random_uniform", 0.0025 / 3, 0.0025 / 3, 1.7320509 },
		{ "truncated_normal", 0.0025 * 0.77374, 0.0025 * 0.77374, 2 / 0.8796256 },
	};
	static float numbers[5000];

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		const bool conv = i % 2;
		const double wanted = sqrt(conv ? cases[i / 2].of_hwio : cases[i / 2].of_flat);
		double sum = 0, squares = 0, most = 0;

		initializer_fill(cases[i / 2].name, 44, "a/kernel", conv ? 4 : 2, conv ? hwio : flat,
				 conv ? 4608 : 5000, numbers);
		for (uint32_t e = 0; e < 4608; e++) {
			sum += (double)numbers[e];
			squares += (double)numbers[e] * (double)numbers[e];
			most = fmax(most, fabs((double)numbers[e]));
		}
		assert_near(sum / 4608 / wanted, 0, 0.06);
		assert_near(sqrt(squares / 4608) / wanted, 1, 0.03);
		assert_true(most <= wanted * cases[i / 2].most * 1.00001);
	}
	initializer_fill("ones", 44, "bn/gamma", 1, flat, 100, numbers);
	for (uint32_t e = 0; e < 100; e++)
		assert_true(numbers[e] == 1);
}

/* The vectors along the shorter side are orthogonal and of length 1: rows of a wide matrix, columns of a tall
 * one. */
static void test_orthogonal(void **state)
{
	static const uint64_t shapes[][2] = { { 6, 20 }, { 20, 6 }, { 5, 5 }, { 1, 9 } };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		const uint64_t rows = shapes[i][0], columns = shapes[i][1];
		const bool wide = rows < columns;
		const uint64_t vectors = wide ? rows : columns, length = wide ? columns : rows;
		float x[120];

		initializer_fill("orthogonal", 44, "a/kernel", 2, shapes[i], rows * columns, x);
		for (uint64_t a = 0; a < vectors; a++)
			for (uint64_t b = 0; b < vectors; b++) {
				double product = 0;

				for (uint64_t e = 0; e < length; e++)
					product += (double)x[wide ? a * columns + e : e * columns + a] *
						   (double)x[wide ? b * columns + e : e * columns + b];
				assert_near(product, a == b, 1e-6);
			}
	}
}

static void test_forget_bias(void **state)
{
	static const uint64_t shape[] = { 8 };
	static const float wanted[] = { 0, 0, 1, 1, 0, 0, 0, 0 };
	float found[8];

	(void)state;
	initializer_fill(INITIALIZER_FORGET, 44, "lstm/bias", 1, shape, 8, found);
	assert_memory_equal(found, wanted, sizeof(wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_philox),
		cmocka_unit_test(test_initializers),
		cmocka_unit_test(test_initializer_spreads),
		cmocka_unit_test(test_orthogonal),
		cmocka_unit_test(test_forget_bias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
