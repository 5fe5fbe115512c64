/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the input as a tokenizer's file, up to a line "===", and what follows as a text for it; without such a
 * line the file is the text, too. */
#include "data/tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BORDER  "\n===\n"
#define IDS_MAX 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void encode(const struct tokenizer *tokenizer, const char *text, size_t bytes)
{
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = NULL;
	int64_t id[IDS_MAX], again[IDS_MAX];
	struct error err = { 0 };
	int64_t ids;

	must(tokenizer_open(tokenizer, &thread, &err) == 0);
	ids = tokenizer_encode(thread, text, bytes, id, IDS_MAX);
	must(ids >= 0);
	/* The words are known now, and the ids are the same. */
	must(tokenizer_encode(thread, text, bytes, again, IDS_MAX) == ids);
	for (int64_t i = 0; i < ids && i < IDS_MAX; i++)
		must(id[i] >= 0 && id[i] < tokenizer_size(tokenizer) && id[i] == again[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = NULL;
	const char *border = memmem(data, size, BORDER, strlen(BORDER)), *file = (const char *)data;
	const size_t file_bytes = border ? (size_t)(border - file) : size;
	struct error err = { 0 };
	uint64_t kept;

	if (tokenizer_parse(file, file_bytes, &tokenizer, &err) < 0) {
		must(*err.text != '\0');
		return 0;
	}
	must(memcmp(tokenizer_file(tokenizer, &kept), file, file_bytes) == 0 && kept == file_bytes);
	if (border)
		encode(tokenizer, border + strlen(BORDER), size - file_bytes - strlen(BORDER));
	else
		encode(tokenizer, file, file_bytes);
	return 0;
}
