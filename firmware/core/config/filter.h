/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.filter: a condition that selects records by the values of features. A comparison is FEATURE OP VALUE,
 * where OP is one of == != < <= > >=, FEATURE in [ VALUE, ... ] or
 * FEATURE not in [ VALUE, ... ]:
 *
 *     label == 3        score >= 0.5        onehot[1] == 1        lang != "de"        year in [ 2024, 2025 ]
 *
 * A feature with several numbers needs an index. Texts can only be compared with == and != and looked for
 * with in. Comparisons are joined by not, and, or and parentheses; not binds most, or least:
 *
 *     lang == "de" and (score >= 0.5 or not label in [ 1, 2 ])
 *
 * data/filter.h applies a condition to records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FILTER_BYTES     256u /* longest condition, with its NUL */
#define FILTER_INDEX_MAX 1023u
#define FILTER_TERMS_MAX 128u /* more than a condition of this length can have */
#define FILTER_ALLOWED                                                                                     \
	"FEATURE OP VALUE, FEATURE[INDEX] OP VALUE, FEATURE in [ VALUE, ... ] or FEATURE not in [ VALUE, " \
	"... ] with OP one of == != < <= > >=, "                                                           \
	"VALUE a number or, after == != and in, a \"text\"; joined by not, and, or and ( )"

enum filter_op { FILTER_EQ, FILTER_NE, FILTER_LE, FILTER_LT, FILTER_GE, FILTER_GT, FILTER_OPS };

/* A comparison; `in` is several ones. */
struct filter_term {
	uint16_t name_at, text_at; /* in filter.text, where both end with a NUL */
	enum filter_op op;
	bool is_text, is_whole, indexed; /* is_whole: the value is an integer */
	uint32_t index;
	int64_t whole;
	double number;
};

enum filter_kind { FILTER_TERM, FILTER_NOT, FILTER_AND, FILTER_OR };

/* left: the term, or the node that `not` is about; right: the second node of `and` and `or`. */
struct filter_node {
	uint8_t kind; /* enum filter_kind */
	uint16_t left, right;
};

struct filter {
	char text[FILTER_BYTES]; /* the condition, cut into names and texts */
	uint32_t terms, nodes;   /* the last node is the whole condition */
	struct filter_term term[FILTER_TERMS_MAX];
	struct filter_node node[4 * FILTER_TERMS_MAX];
};

/* Parses a condition. Returns false where the text is not a valid condition. */
bool filter_parse(const char *text, struct filter *ret_filter);
/* Returns the name of the feature that a term compares. */
const char *filter_name(const struct filter *filter, const struct filter_term *term);
