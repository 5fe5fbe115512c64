/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.filter: a condition that selects records by the value of one feature. The form is FEATURE OP VALUE,
 * where OP is one of == != < <= > >=:
 *
 *     label == 3        score >= 0.5        onehot[1] == 1        lang != "de"
 *
 * A feature of several numbers needs an index. A text is compared with == and != only. data/filter.h matches
 * records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FILTER_BYTES     256u /* longest condition, with its NUL */
#define FILTER_INDEX_MAX 1023u
#define FILTER_ALLOWED                                                                                    \
	"FEATURE OP VALUE or FEATURE[INDEX] OP VALUE with OP one of == != < <= > >=, VALUE a number or, " \
	"after "                                                                                          \
	"== and !=, a \"text\""

enum filter_op { FILTER_EQ, FILTER_NE, FILTER_LE, FILTER_LT, FILTER_GE, FILTER_GT, FILTER_OPS };

struct filter {
	char name[FILTER_BYTES], text[FILTER_BYTES];
	enum filter_op op;
	bool is_text, is_whole, indexed; /* is_whole: a number without a fraction */
	uint32_t index;
	int64_t whole;
	double number;
};

/* Parses a condition; false: the text is none. */
bool filter_parse(const char *text, struct filter *ret_filter);
