/* SPDX-License-Identifier: Apache-2.0 */
#include "data/filter.h"

#include "data/example.h"

#include <string.h>

#define SEVERAL 2 /* the feature has several values, and the condition has no index */

static bool holds(enum filter_op op, int order)
{
	switch (op) {
	case FILTER_EQ:
		return order == 0;
	case FILTER_NE:
		return order != 0;
	case FILTER_LE:
		return order <= 0;
	case FILTER_LT:
		return order < 0;
	case FILTER_GE:
		return order >= 0;
	default:
		return order > 0;
	}
}

static int match_text(const struct filter *filter, const void *example, uint64_t bytes, struct error *err)
{
	uint32_t length = (uint32_t)strlen(filter->text);
	/* Read one byte more than the condition's text has, so that a longer value compares as different. */
	struct example_schema schema;
	uint32_t row[FILTER_BYTES / sizeof(uint32_t) + 3];
	void *rows[] = { row };
	int r;

	example_schema_one(&schema, (struct example_feature){ .name = filter->name,
							      .dtype = EXAMPLE_BYTES,
							      .elements = 1,
							      .optional = true,
							      .bytes_max = length + 1,
							      .truncate = true });
	r = example_parse(&schema, example, bytes, rows, err);
	if (r < 0)
		return r;
	return (row[0] == length && memcmp(&row[1], filter->text, length) == 0) == (filter->op == FILTER_EQ);
}

union value {
	int64_t whole[FILTER_INDEX_MAX + 1];
	float number[FILTER_INDEX_MAX + 1];
};

/* NaN differs from every number: only != matches. */
static bool match_value(const struct filter *filter, uint32_t dtype, const union value *value)
{
	double found, wanted = filter->number;

	if (dtype == EXAMPLE_INT64 && filter->is_whole) {
		int64_t whole = value->whole[filter->index];

		return holds(filter->op, (whole > filter->whole) - (whole < filter->whole));
	}
	found = dtype == EXAMPLE_INT64 ? (double)value->whole[filter->index]
				       : (double)value->number[filter->index];
	if (dtype == EXAMPLE_FLOAT32)
		wanted = (double)(float)wanted;
	if (found != found || wanted != wanted)
		return filter->op == FILTER_NE;
	return holds(filter->op, (found > wanted) - (found < wanted));
}

static int match_number(const struct filter *filter, uint32_t dtype, const void *example, uint64_t bytes,
			struct error *err)
{
	union value value;
	int64_t count = 0;
	struct example_ragged ragged = { .count = &count, .values = &value };
	struct example_schema schema;
	void *rows[] = { &ragged };
	int r;

	example_schema_one(&schema,
			   (struct example_feature){ .name = filter->name,
						     .dtype = dtype,
						     .values_max = filter->indexed ? filter->index + 1 : 2,
						     .truncate = true });
	r = example_parse(&schema, example, bytes, rows, err);
	if (r < 0)
		return r;
	if (!filter->indexed && count > 1)
		return SEVERAL;
	return count > filter->index && match_value(filter, dtype, &value);
}

int filter_match(const struct filter *filter, const void *example, uint64_t bytes, struct error *err)
{
	uint32_t first = filter->is_whole ? EXAMPLE_INT64 : EXAMPLE_FLOAT32;
	int r;

	if (filter->is_text)
		return match_text(filter, example, bytes, err);
	r = match_number(filter, first, example, bytes, err);
	if (r == -EBADMSG) {
		/* The condition's number does not tell the feature's type ("score >= 1"): try the other type.
		 */
		int again =
			match_number(filter, EXAMPLE_INT64 + EXAMPLE_FLOAT32 - first, example, bytes, NULL);

		if (again != -EBADMSG)
			r = again;
	}
	if (r == SEVERAL)
		return error_set(err, -EBADMSG,
				 "feature \"%s\": found several values, order.filter names none",
				 filter->name);
	return r;
}
