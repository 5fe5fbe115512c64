/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/semver.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PARTS  3
#define DIGITS "0123456789"

struct semver {
	uint64_t core[PARTS];
	const char *stage;  /* pre-release, such as "rc.1"; ends at '+' or at the end of the version */
	size_t stage_bytes; /* 0: a release */
};

/* Parses "1.2.3". Returns the rest of the text, or NULL where the text does not begin with a version. */
static const char *parse_core(const char *text, uint64_t core[static PARTS])
{
	char *end;

	for (unsigned part = 0; part < PARTS; part++, text++) {
		if (*text < '0' || *text > '9')
			return NULL;
		errno = 0;
		core[part] = strtoull(text, &end, 10);
		if (errno)
			return NULL;
		text = end;
		if (*text != '.')
			return text;
	}
	return NULL;
}

static int parse(const char *text, struct semver *ret_version, struct error *err)
{
	struct semver version = { 0 };
	const char *rest = strlen(text) < SEMVER_BYTES ? parse_core(text, version.core) : NULL;

	if (rest && *rest == '-') {
		version.stage = ++rest;
		version.stage_bytes = strcspn(rest, "+");
		rest = version.stage_bytes ? rest + version.stage_bytes : NULL;
	}
	if (!rest || (*rest && *rest != '+'))
		return error_set(err, -EINVAL,
				 "version \"%.80s\": expected MAJOR.MINOR.PATCH, such as 1.2.0 or 1.2.0-rc.1",
				 text);
	*ret_version = version;
	return 0;
}

static int order_of(uint64_t one, uint64_t other)
{
	return one < other ? -1 : one > other;
}

/* Compares two words of a pre-release: numbers by their value; a number is older than a word with letters. */
static int compare_words(const char *one, size_t bytes, const char *other, size_t other_bytes)
{
	const bool is_number = strspn(one, DIGITS) >= bytes, other_is = strspn(other, DIGITS) >= other_bytes;
	int order;

	if (is_number && other_is)
		return order_of(strtoull(one, NULL, 10), strtoull(other, NULL, 10));
	if (is_number != other_is)
		return is_number ? -1 : 1;
	order = memcmp(one, other, bytes < other_bytes ? bytes : other_bytes);
	return order ? order : order_of(bytes, other_bytes);
}

/* Compares two pre-releases word by word; where all words of the shorter one are equal, the longer one is
 * newer. */
static int compare_stages(const struct semver *one, const struct semver *other)
{
	const char *a = one->stage, *b = other->stage;
	const char *const a_end = a + one->stage_bytes, *const b_end = b + other->stage_bytes;

	for (;;) {
		const size_t bytes = strcspn(a, ".+"), other_bytes = strcspn(b, ".+");
		const int order = compare_words(a, bytes, b, other_bytes);

		if (order)
			return order;
		a += bytes;
		b += other_bytes;
		if (a == a_end || b == b_end)
			return (a != a_end) - (b != b_end);
		a++;
		b++;
	}
}

int semver_compare(const char *one, const char *other, int *ret_order, struct error *err)
{
	struct semver a, b;
	int r, order = 0;

	if ((r = parse(one, &a, err)) < 0 || (r = parse(other, &b, err)) < 0)
		return r;
	for (unsigned part = 0; part < PARTS && !order; part++)
		order = order_of(a.core[part], b.core[part]);
	if (!order && a.stage_bytes && b.stage_bytes)
		order = compare_stages(&a, &b);
	else if (!order)
		order = (b.stage_bytes != 0) - (a.stage_bytes != 0);
	*ret_order = order;
	return 0;
}
