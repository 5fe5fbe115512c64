/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/normal.h"

#include "core/base/utf8.h"
#include "data/tokenizer/unicode.h"

#include <stdlib.h>

/* A mark as a number: its class, its place in the run and itself, so that the order of the numbers is the
 * order of the marks. */
#define MARK_CODE_BITS  21
#define MARK_PLACE_BITS 35

struct writer {
	const struct normal *normal;
	struct normal_marks *marks;
	char *at;
	bool failed; /* no memory */
};

void normal_prepare(struct normal *normal)
{
	for (uint32_t c = 0; c < sizeof(normal->ascii); c++) {
		const bool capital = c >= 'A' && c <= 'Z';

		normal->ascii[c] = (uint8_t)(normal->lower && capital ? c - 'A' + 'a' : c);
		if (normal->clean && unicode_is_removed(c))
			normal->ascii[c] = NORMAL_DROP;
		else if (normal->clean && unicode_is_space(c))
			normal->ascii[c] = ' ';
	}
}

/* Writes one character in its final form. */
static void put(struct writer *writer, uint32_t code)
{
	uint32_t small[UNICODE_PARTS_MAX] = { code };
	const unsigned characters = writer->normal->lower ? unicode_lower(code, small) : 1;

	for (unsigned i = 0; i < characters; i++)
		writer->at += unicode_put(small[i], writer->at);
}

static int ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Ends a run of marks. */
static void put_marks(struct writer *writer)
{
	struct normal_marks *marks = writer->marks;

	if (marks->marks > 1)
		qsort(marks->mark, marks->marks, sizeof(*marks->mark), ascending);
	for (uint64_t i = 0; i < marks->marks; i++)
		put(writer, (uint32_t)(marks->mark[i] & ((1u << MARK_CODE_BITS) - 1)));
	marks->marks = 0;
}

static void add_mark(struct writer *writer, uint8_t order, uint32_t code)
{
	struct normal_marks *marks = writer->marks;

	if (marks->marks == marks->capacity) {
		const uint64_t capacity = marks->capacity ? 2 * marks->capacity : 64;
		void *grown = realloc(marks->mark, capacity * sizeof(*marks->mark));

		if (!grown) {
			writer->failed = true;
			return;
		}
		marks->mark = grown;
		marks->capacity = capacity;
	}
	marks->mark[marks->marks] =
		(uint64_t)order << (MARK_PLACE_BITS + MARK_CODE_BITS) | marks->marks << MARK_CODE_BITS | code;
	marks->marks++;
}

/* Takes a character of the decomposed text. */
static void put_part(struct writer *writer, uint32_t code)
{
	uint8_t order;

	if (unicode_is_mark(code))
		return;
	order = unicode_order(code);
	if (order) {
		add_mark(writer, order, code);
		return;
	}
	put_marks(writer);
	put(writer, code);
}

static void put_character(struct writer *writer, uint32_t code)
{
	uint32_t part[UNICODE_PARTS_MAX];
	unsigned parts;

	if (!writer->normal->accents) {
		put(writer, code);
		return;
	}
	parts = unicode_decompose(code, part);
	for (unsigned i = 0; i < parts; i++)
		put_part(writer, part[i]);
}

/* Takes a character beyond ASCII. */
static void put_wide(struct writer *writer, uint32_t code)
{
	const struct normal *normal = writer->normal;

	if (normal->clean && unicode_is_removed(code))
		return;
	if (normal->clean && unicode_is_space(code))
		code = ' ';
	if (!normal->chinese || !unicode_is_chinese(code)) {
		put_character(writer, code);
		return;
	}
	put_marks(writer);
	*writer->at++ = ' ';
	put_character(writer, code);
	*writer->at++ = ' ';
}

int64_t normal_text(const struct normal *normal, struct normal_marks *marks, const char *text, uint64_t bytes,
		    char *out)
{
	struct writer writer = { .normal = normal, .marks = marks, .at = out };
	const char *at = text, *end = text + bytes;

	marks->marks = 0;
	while (at < end && !writer.failed) {
		uint32_t code;

		if ((unsigned char)*at >= sizeof(normal->ascii)) {
			at += utf8_character(at, (uint64_t)(end - at), &code);
			put_wide(&writer, code);
			continue;
		}
		code = normal->ascii[(unsigned char)*at++];
		if (code == NORMAL_DROP)
			continue;
		if (marks->marks)
			put_marks(&writer);
		*writer.at++ = (char)code;
	}
	put_marks(&writer);
	return writer.failed ? -ENOMEM : writer.at - out;
}

void normal_marks_done(struct normal_marks *marks)
{
	free(marks->mark);
}
