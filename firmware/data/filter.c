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

static int match_text(const struct filter *filter, const struct filter_term *term, const void *example,
		      uint64_t bytes, struct error *err)
{
	const char *text = filter->text + term->text_at;
	uint32_t length = (uint32_t)strlen(text);
	/* Read one byte more than the condition's text has, so that a longer value compares as different. */
	struct example_schema schema;
	uint32_t row[FILTER_BYTES / sizeof(uint32_t) + 3];
	void *rows[] = { row };
	int r;

	example_schema_one(&schema, (struct example_feature){ .name = filter_name(filter, term),
							      .dtype = EXAMPLE_BYTES,
							      .elements = 1,
							      .optional = true,
							      .bytes_max = length + 1,
							      .truncate = true });
	r = example_parse(&schema, example, bytes, rows, err);
	if (r < 0)
		return r;
	return (row[0] == length && memcmp(&row[1], text, length) == 0) == (term->op == FILTER_EQ);
}

union value {
	int64_t whole[FILTER_INDEX_MAX + 1];
	float number[FILTER_INDEX_MAX + 1];
};

/* NaN differs from every number: only != matches. */
static bool match_value(const struct filter_term *term, uint32_t dtype, const union value *value)
{
	double found, wanted = term->number;

	if (dtype == EXAMPLE_INT64 && term->is_whole) {
		int64_t whole = value->whole[term->index];

		return holds(term->op, (whole > term->whole) - (whole < term->whole));
	}
	found = dtype == EXAMPLE_INT64 ? (double)value->whole[term->index]
				       : (double)value->number[term->index];
	if (dtype == EXAMPLE_FLOAT32)
		wanted = (double)(float)wanted;
	if (found != found || wanted != wanted)
		return term->op == FILTER_NE;
	return holds(term->op, (found > wanted) - (found < wanted));
}

static int match_number(const struct filter *filter, const struct filter_term *term, uint32_t dtype,
			const void *example, uint64_t bytes, struct error *err)
{
	union value value;
	int64_t count = 0;
	struct example_ragged ragged = { .count = &count, .values = &value };
	struct example_schema schema;
	void *rows[] = { &ragged };
	int r;

	example_schema_one(&schema,
			   (struct example_feature){ .name = filter_name(filter, term),
						     .dtype = dtype,
						     .values_max = term->indexed ? term->index + 1 : 2,
						     .truncate = true });
	r = example_parse(&schema, example, bytes, rows, err);
	if (r < 0)
		return r;
	if (!term->indexed && count > 1)
		return SEVERAL;
	return count > term->index && match_value(term, dtype, &value);
}

static int match_term(const struct filter *filter, const struct filter_term *term, const void *example,
		      uint64_t bytes, struct error *err)
{
	uint32_t first = term->is_whole ? EXAMPLE_INT64 : EXAMPLE_FLOAT32;
	int r;

	if (term->is_text)
		return match_text(filter, term, example, bytes, err);
	r = match_number(filter, term, first, example, bytes, err);
	if (r == -EBADMSG) {
		/* The condition's number does not tell the feature's type ("score >= 1"): try the other type.
		 */
		int again = match_number(filter, term, EXAMPLE_INT64 + EXAMPLE_FLOAT32 - first, example,
					 bytes, NULL);

		if (again != -EBADMSG)
			r = again;
	}
	if (r == SEVERAL)
		return error_set(err, -EBADMSG,
				 "feature \"%s\": found several values, order.filter names none",
				 filter_name(filter, term));
	return r;
}

/* The recursion ends, because the nodes that a node joins are before it. */
static int match_node(const struct filter *filter, uint32_t at, const void *example, uint64_t bytes,
		      struct error *err) // NOLINT(misc-no-recursion)
{
	const struct filter_node *node = &filter->node[at];
	int r;

	if (node->kind == FILTER_TERM)
		return match_term(filter, &filter->term[node->left], example, bytes, err);
	r = match_node(filter, node->left, example, bytes, err);
	if (r < 0)
		return r;
	if (node->kind == FILTER_NOT)
		return !r;
	return r == (node->kind == FILTER_OR) ? r : match_node(filter, node->right, example, bytes, err);
}

int filter_match(const struct filter *filter, const void *example, uint64_t bytes, struct error *err)
{
	return match_node(filter, filter->nodes - 1, example, bytes, err);
}
