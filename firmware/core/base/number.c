/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/number.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define DIGITS_EXACT 15u /* decimal digits that a double holds exactly */
#define POWER_EXACT  22  /* the largest power of 10 that a double holds exactly */
#define WHOLE_MOST   9007199254740992.0

static const double power[POWER_EXACT + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
					       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

/* The parts of a number: mantissa * 10^exponent. */
struct parts {
	uint64_t mantissa;
	uint32_t digits; /* without zeros in front */
	int exponent;
	bool negative, whole;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses digits, and a point with digits, at least one digit. */
static const char *parse_mantissa(const char *at, struct parts *parts)
{
	const char *begin = at;
	uint32_t points = 0;

	for (; is_digit(*at) || (*at == '.' && points == 0); at++) {
		if (*at == '.') {
			points = 1;
			continue;
		}
		parts->exponent -= (int)points;
		if (parts->digits > DIGITS_EXACT)
			continue;
		parts->mantissa = parts->mantissa * 10 + (uint64_t)(*at - '0');
		parts->digits += parts->mantissa != 0;
	}
	parts->whole = points == 0;
	return at - begin > (ptrdiff_t)points ? at : NULL;
}

static const char *parse_exponent(const char *at, struct parts *parts)
{
	bool negative = false;
	int value = 0;

	if (*at != 'e' && *at != 'E')
		return at;
	parts->whole = false;
	at++;
	if (*at == '+' || *at == '-')
		negative = *at++ == '-';
	if (!is_digit(*at))
		return NULL;
	for (; is_digit(*at); at++)
		value = value < 10000 ? value * 10 + (*at - '0') : value;
	parts->exponent += negative ? -value : value;
	return at;
}

/* A mantissa of at most 15 digits, times or divided by a power of 10 up to 10^22, is rounded once (Clinger,
 * "How to read floating point numbers accurately", 1990). All other numbers are strtod()'s. */
bool number_parse(const char *text, uint64_t bytes, double *ret_value, bool *ret_whole)
{
	const char *at = text;
	struct parts parts = { 0 };
	double value;

	if (*at == '+' || *at == '-')
		parts.negative = *at++ == '-';
	at = parse_mantissa(at, &parts);
	at = at ? parse_exponent(at, &parts) : NULL;
	if (!at || at != text + bytes)
		return false;
	if (parts.digits <= DIGITS_EXACT && parts.exponent >= -POWER_EXACT && parts.exponent <= POWER_EXACT) {
		value = (double)parts.mantissa;
		value = parts.exponent < 0 ? value / power[-parts.exponent] : value * power[parts.exponent];
		value = parts.negative ? -value : value;
	} else {
		value = strtod(text, NULL);
	}
	if (fabs(value) > (double)FLT_MAX)
		return false;
	*ret_value = value;
	*ret_whole = parts.whole && fabs(value) <= WHOLE_MOST;
	return true;
}
