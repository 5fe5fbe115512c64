/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table/split.h"

#include "core/base/mix.h"

#include <math.h>
#include <string.h>

/* 2^64 divided by the golden ratio: multiples of it, modulo 2^64, are spread as evenly as can be (Knuth, The
 * Art of Computer Programming, section 6.4). */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

uint64_t split_key(uint64_t seed, uint64_t block, uint64_t row)
{
	return mix64(mix64(seed + GOLDEN) ^ mix64((block << 32) + row + 1));
}

/* Returns a number between 0 and 2^64 - 1; the lowest ones are the test split's. */
static uint64_t draw(const struct table *table, const struct split_row *row)
{
	const uint64_t seed = mix64(table->seed + 2 * GOLDEN);

	if (row->group)
		return mix64(mix_bytes(row->group, row->group_bytes) ^ seed);
	if (row->label)
		return mix64(mix_bytes(row->label, row->label_bytes) ^ mix64(row->block + seed)) +
		       row->before * GOLDEN;
	return mix64(row->key ^ seed);
}

/* A date is a text, unless --test-after is a number. */
static bool is_after(const struct table *table, const struct split_row *row)
{
	if (!row->date)
		return false;
	return isnan(table->test_after_number) ? strcmp(row->date, table->test_after) > 0
					       : row->number > table->test_after_number;
}

enum texts_split split_choose(const struct table *table, const struct split_row *row)
{
	const bool said = table->train_inputs < table->inputs || table->test_after;
	const uint64_t percent = UINT64_MAX / 100, test = said ? 0 : percent * table->test_percent,
		       validation = percent * table->validation_percent;
	uint64_t at;

	if (row->is_test || (table->test_after && is_after(table, row)))
		return TEXTS_TEST;
	at = draw(table, row);
	return at < test ? TEXTS_TEST : at - test < validation ? TEXTS_VALIDATION : TEXTS_TRAIN;
}
