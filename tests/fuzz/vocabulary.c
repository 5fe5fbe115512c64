/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the input as the file of a vocabulary and as a text for it. Also as texts, a line each, of which a
 * vocabulary is made; the first two bytes say how long. */
#include "data/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TEXTS_MAX  64u
#define TOKENS_MAX 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void encode(const struct vocabulary *vocabulary, const char *text, size_t bytes)
{
	int64_t token[TOKENS_MAX];
	const uint64_t tokens = vocabulary_encode(vocabulary, text, bytes, token, TOKENS_MAX);

	for (uint64_t i = 0; i < tokens && i < TOKENS_MAX; i++)
		must(token[i] >= VOCABULARY_UNKNOWN && token[i] < vocabulary_size(vocabulary));
}

static void parse(const char *file, size_t size)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = NULL;
	struct error err = { 0 };
	uint64_t bytes;

	if (vocabulary_parse(file, size, &vocabulary, &err) < 0) {
		must(*err.text != '\0');
		return;
	}
	must(memcmp(vocabulary_file(vocabulary, &bytes), file, size) == 0 && bytes == size);
	encode(vocabulary, file, size);
}

/* A vocabulary that is made of texts can be read again. */
static void fit(const char *texts, size_t size, uint32_t max, uint32_t ngrams)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = NULL;
	const char *text[TEXTS_MAX], *at = texts, *end = texts + size;
	uint64_t bytes[TEXTS_MAX];
	struct error err = { 0 };
	uint32_t count = 0;

	while (at < end && count < TEXTS_MAX) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		text[count] = at;
		bytes[count++] = (uint64_t)((line_end ? line_end : end) - at);
		at = line_end ? line_end + 1 : end;
	}
	must(vocabulary_fit(text, bytes, count, max, ngrams, &vocabulary, &err) == 0);
	must(vocabulary_size(vocabulary) <= max);
	encode(vocabulary, texts, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse((const char *)data, size);
	if (size > 2)
		fit((const char *)data + 2, size - 2, VOCABULARY_FIRST + data[0],
		    1 + data[1] % VOCABULARY_NGRAM_MAX);
	return 0;
}
