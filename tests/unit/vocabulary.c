/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: their words and the order of words, texts as numbers, files, damaged files. */
#include "data/vocabulary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const reviews[] = {
	"A good film.",
	"a GOOD story, don't miss it!",
	"not a good film",
	"don't",
};

#define REVIEWS (sizeof(reviews) / sizeof(reviews[0]))

static struct vocabulary *fit(const char *const *text, uint32_t texts, uint32_t max, uint32_t ngrams)
{
	struct vocabulary *vocabulary = NULL;
	struct error err = { 0 };
	uint64_t bytes[16];

	for (uint32_t i = 0; i < texts; i++)
		bytes[i] = strlen(text[i]);
	assert_return_code(vocabulary_fit(text, bytes, texts, max, ngrams, &vocabulary, &err), 0);
	return vocabulary;
}

static void expect_file(const struct vocabulary *vocabulary, const char *expected)
{
	uint64_t bytes;
	const char *file = vocabulary_file(vocabulary, &bytes);

	assert_string_equal(file, expected);
	assert_int_equal(bytes, strlen(expected));
}

static void the_most_frequent_first(void **state)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(reviews, REVIEWS, 100, 1);

	(void)state;
	/* "a" and "good" are in three texts, "don't" and "film" in two; a word of a single text is left
	 * out. */
	expect_file(vocabulary, "\n[UNK]\na\ngood\ndon't\nfilm\n");
	assert_int_equal(vocabulary_size(vocabulary), 6);
}

static void runs_of_words(void **state)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(reviews, REVIEWS, 100, 3);

	(void)state;
	expect_file(vocabulary, "\n[UNK]\na\na good\ngood\na good film\ndon't\nfilm\ngood film\n");
}

static void no_more_than_asked_for(void **state)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(reviews, REVIEWS, 4, 1);

	(void)state;
	expect_file(vocabulary, "\n[UNK]\na\ngood\n");
}

static void any_order_of_texts(void **state)
{
	const char *const turned[] = { reviews[3], reviews[2], reviews[1], reviews[0] };
	CLEANUP(vocabulary_freep) struct vocabulary *one = fit(reviews, REVIEWS, 100, 3);
	CLEANUP(vocabulary_freep) struct vocabulary *other = fit(turned, REVIEWS, 100, 3);
	uint64_t bytes;

	(void)state;
	expect_file(other, vocabulary_file(one, &bytes));
}

static void texts_as_numbers(void **state)
{
	static const char text[] = "Not a good film, (a film)";
	static const int64_t expected[] = { 1, 2, 4, 3, 7, 8, 5, 1, 2, 7, 1 };
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(reviews, REVIEWS, 100, 3);
	int64_t tokens[16];

	(void)state;
	assert_int_equal(vocabulary_encode(vocabulary, text, strlen(text), tokens, 16), 11);
	assert_memory_equal(tokens, expected, sizeof(expected));
	assert_int_equal(vocabulary_encode(vocabulary, text, strlen(text), tokens, 3), 11);
	assert_int_equal(vocabulary_encode(vocabulary, "", 0, tokens, 16), 0);
}

static void nothing_to_learn(void **state)
{
	static const char *const one[] = { "once" };
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(one, 1, 100, 2);
	int64_t token;

	(void)state;
	expect_file(vocabulary, "\n[UNK]\n");
	assert_int_equal(vocabulary_encode(vocabulary, "once", 4, &token, 1), 1);
	assert_int_equal(token, VOCABULARY_UNKNOWN);
}

static void many_words(void **state)
{
	enum { WORDS = 5000 };
	char *text = malloc(WORDS * 8 + 1), *at = text;
	const char *both[2] = { text, text };

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < WORDS; i++)
		at += sprintf(at, "w%d ", i);
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = fit(both, 2, VOCABULARY_MAX, 2);
	CLEANUP(free_ptr) int64_t *tokens = malloc(2 * WORDS * sizeof(*tokens));

	assert_int_equal(vocabulary_size(vocabulary), VOCABULARY_FIRST + 2 * WORDS - 1);
	assert_int_equal(vocabulary_encode(vocabulary, text, (uint64_t)(at - text), tokens, 2 * WORDS),
			 2 * WORDS - 1);
	for (int i = 0; i < 2 * WORDS - 1; i++)
		assert_true(tokens[i] >= VOCABULARY_FIRST && tokens[i] < VOCABULARY_FIRST + 2 * WORDS - 1);
	free(text);
}

static void broken_files(void **state)
{
	static const struct {
		const char *file, *text;
	} broken[] = {
		{ "", "vocabulary: expected an empty line and [UNK] at its start" },
		{ "a\nb\n", "vocabulary: expected an empty line and [UNK] at its start" },
		{ "\n[UNK]\na\nb", "vocabulary: line 4: the line has no end" },
		{ "\n[UNK]\na\n\n", "vocabulary: line 4: found \"\", expected 1 .. 4 words" },
		{ "\n[UNK]\na b c d e\n", "vocabulary: line 3: found \"a b c d e\", expected 1 .. 4 words" },
		{ "\n[UNK]\na\nb\nA\n", "vocabulary: line 5: \"A\" is already in line 3" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct vocabulary *vocabulary = NULL;
		struct error err = { 0 };

		assert_int_equal(vocabulary_parse(broken[i].file, strlen(broken[i].file), &vocabulary, &err),
				 -EBADMSG);
		assert_string_equal(err.text, broken[i].text);
		assert_null(vocabulary);
	}
}

/* The bytes of a file that is too large are not looked at. */
static void too_large(void **state)
{
	struct vocabulary *vocabulary = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(vocabulary_parse("", VOCABULARY_FILE_MAX + 1ull, &vocabulary, &err), -EBADMSG);
	assert_string_equal(err.text, "vocabulary: 268435457 bytes, at most 268435456 are allowed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_frequent_first),
		cmocka_unit_test(runs_of_words),
		cmocka_unit_test(no_more_than_asked_for),
		cmocka_unit_test(any_order_of_texts),
		cmocka_unit_test(texts_as_numbers),
		cmocka_unit_test(nothing_to_learn),
		cmocka_unit_test(many_words),
		cmocka_unit_test(broken_files),
		cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
