/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.filter: a condition that selects records by the value of one feature. The form is FEATURE OP VALUE,
 * where OP is one of == != < <= > >=:
 *
 *     label == 3        score >= 0.5        onehot[1] == 1        lang != "de"
 *
 * A feature with several numbers needs an index. Texts can only be compared with == and !=. data/filter.h
 * applies a condition to records.
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
	bool is_text, is_whole, indexed; /* is_whole: the value is an integer */
	uint32_t index;
	int64_t whole;
	double number;
};

/* Parses a condition. Returns false where the text is not a valid condition. */
bool filter_parse(const char *text, struct filter *ret_filter);
