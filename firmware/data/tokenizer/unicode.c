/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/unicode.h"

#include "data/tokenizer/unicode_table.h"

#include <utf8proc.h>

#define I_WITH_DOT       0x130u /* capital I with a dot, in Turkish: the only character with two small letters */
#define DOT_ABOVE        0x307u
#define LATER_DECOMPOSED 0x11938u /* a vowel whose decomposition the tables of `tokenizers` do not have */

#define IN(table, code) in_ranges(table, sizeof(table) / sizeof((table)[0]), code)

static bool in_ranges(const struct unicode_range *range, uint32_t ranges, uint32_t code)
{
	uint32_t low = 0, high = ranges;

	if (code < range[0].first)
		return false;
	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (code > range[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges && code >= range[low].first;
}

bool unicode_is_space(uint32_t code)
{
	if (code < 0x80)
		return code == ' ' || (code >= '\t' && code <= '\r');
	switch (utf8proc_category((utf8proc_int32_t)code)) {
	case UTF8PROC_CATEGORY_ZS:
	case UTF8PROC_CATEGORY_ZL:
	case UTF8PROC_CATEGORY_ZP:
		return true;
	default:
		return code == 0x85;
	}
}

enum unicode_kind unicode_kind(uint32_t code)
{
	switch (utf8proc_category((utf8proc_int32_t)code)) {
	case UTF8PROC_CATEGORY_LU:
	case UTF8PROC_CATEGORY_LL:
	case UTF8PROC_CATEGORY_LT:
	case UTF8PROC_CATEGORY_LM:
	case UTF8PROC_CATEGORY_LO:
		return IN(later_letters, code) ? UNICODE_OTHER : UNICODE_LETTER;
	case UTF8PROC_CATEGORY_ND:
	case UTF8PROC_CATEGORY_NL:
	case UTF8PROC_CATEGORY_NO:
		return IN(later_letters, code) ? UNICODE_OTHER : UNICODE_NUMBER;
	default:
		return unicode_is_space(code) ? UNICODE_SPACE : UNICODE_OTHER;
	}
}

bool unicode_is_removed(uint32_t code)
{
	switch (utf8proc_category((utf8proc_int32_t)code)) {
	case UTF8PROC_CATEGORY_CC:
		return code != '\t' && code != '\n' && code != '\r';
	case UTF8PROC_CATEGORY_CF:
		return !IN(later_formats, code);
	case UTF8PROC_CATEGORY_CO:
		return true;
	default:
		return code == 0xfffd;
	}
}

bool unicode_is_punctuation(uint32_t code)
{
	bool punctuation;

	if (code < 0x80)
		return (code > ' ' && code < '0') || (code > '9' && code < 'A') ||
		       (code > 'Z' && code < 'a') || (code > 'z' && code < 0x7f);
	switch (utf8proc_category((utf8proc_int32_t)code)) {
	case UTF8PROC_CATEGORY_PC:
	case UTF8PROC_CATEGORY_PD:
	case UTF8PROC_CATEGORY_PS:
	case UTF8PROC_CATEGORY_PE:
	case UTF8PROC_CATEGORY_PI:
	case UTF8PROC_CATEGORY_PF:
	case UTF8PROC_CATEGORY_PO:
		punctuation = true;
		break;
	default:
		punctuation = false;
	}
	return punctuation != IN(other_punctuation, code);
}

bool unicode_is_mark(uint32_t code)
{
	return (utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_MN) != IN(other_marks, code);
}

bool unicode_is_chinese(uint32_t code)
{
	static const struct unicode_range blocks[] = {
		{ 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xf900, 0xfaff },   { 0x20000, 0x2a6df },
		{ 0x2a700, 0x2b73f }, { 0x2b740, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0x2f800, 0x2fa1f },
	};

	return IN(blocks, code);
}

uint8_t unicode_order(uint32_t code)
{
	const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)code);

	return property->combining_class == 0 || IN(later_orders, code) ? 0
									: (uint8_t)property->combining_class;
}

unsigned unicode_decompose(uint32_t code, uint32_t ret[static UNICODE_PARTS_MAX])
{
	utf8proc_int32_t part[UNICODE_PARTS_MAX];
	int last_boundary = 0;
	const utf8proc_ssize_t parts =
		code == LATER_DECOMPOSED
			? 0
			: utf8proc_decompose_char((utf8proc_int32_t)code, part, UNICODE_PARTS_MAX,
						  UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last_boundary);

	ret[0] = code;
	if (parts < 1 || parts > UNICODE_PARTS_MAX)
		return 1;
	for (utf8proc_ssize_t i = 0; i < parts; i++)
		ret[i] = (uint32_t)part[i];
	return (unsigned)parts;
}

unsigned unicode_lower(uint32_t code, uint32_t ret[static UNICODE_PARTS_MAX])
{
	ret[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)code);
	if (code != I_WITH_DOT)
		return 1;
	ret[1] = DOT_ABOVE;
	return 2;
}

unsigned unicode_put(uint32_t code, char *out)
{
	return (unsigned)utf8proc_encode_char((utf8proc_int32_t)code, (utf8proc_uint8_t *)out);
}
