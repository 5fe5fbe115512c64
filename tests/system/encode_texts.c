/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the ids of texts: encode_texts TOKENIZER MAX. Standard input: for each text its bytes as uint32,
 * then the text. Standard output: for each text the number of ids as uint32, and each id as uint32. MAX: the
 * most ids of a text; 0: no limit. */
#include "data/tokenizer/tokenizer.h"

#include <string.h>

static char *read_file(const char *path, uint64_t *ret_bytes)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rbe");
	char *data = malloc(TOKENIZER_FILE_MAX + 1);

	if (!file || !data)
		exit(1);
	*ret_bytes = fread(data, 1, TOKENIZER_FILE_MAX + 1, file);
	return data;
}

static int encode(struct tokenizer_thread *thread, const char *text, uint32_t bytes, uint64_t max)
{
	const uint64_t room = max ? max : (uint64_t)bytes * 2 + 64;
	CLEANUP(free_ptr) int64_t *id = malloc(room * sizeof(*id));
	const int64_t ids = id ? tokenizer_encode(thread, text, bytes, id, room) : -ENOMEM;
	const uint32_t count = (uint32_t)((uint64_t)ids < room ? (uint64_t)ids : room);

	if (ids < 0 || (!max && (uint64_t)ids > room) || fwrite(&count, sizeof(count), 1, stdout) != 1)
		return 1;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t value = (uint32_t)id[i];

		if (fwrite(&value, sizeof(value), 1, stdout) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = NULL;
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = NULL;
	struct error err = { 0 };
	uint64_t file_bytes = 0;
	CLEANUP(free_ptr) char *file = argc == 3 ? read_file(argv[1], &file_bytes) : NULL;
	CLEANUP(free_ptr) char *text = NULL;
	uint32_t bytes;

	if (!file)
		return 2;
	if (tokenizer_parse(file, file_bytes, &tokenizer, &err) < 0 ||
	    tokenizer_open(tokenizer, &thread, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while (fread(&bytes, sizeof(bytes), 1, stdin) == 1) {
		char *grown = realloc(text, bytes + 1u);

		if (!grown)
			return 1;
		text = grown;
		if (fread(text, 1, bytes, stdin) != bytes ||
		    encode(thread, text, bytes, strtoull(argv[2], NULL, 10)))
			return 1;
	}
	return 0;
}
