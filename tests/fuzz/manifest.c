/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.jsonl, which arrives in pieces: the first byte of the input is the size of a piece, the rest is
 * the file. The pieces give the same lines as the whole file does. */
#include "fetchd/plan/manifest.c" // NOLINT(bugprone-suspicious-include): programs make no archive

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t lines, sum;
};

static void must(bool true_always)
{
	if (!true_always)
		abort();
}

static void see(void *context, const struct manifest_line *line)
{
	struct seen *seen = context;

	must(*line->key && strlen(line->key) <= MANIFEST_KEY_MAX && strlen(line->etag) < sizeof(line->etag) &&
	     strlen(line->sha256) < sizeof(line->sha256));
	seen->lines++;
	for (const char *c = line->key; *c; c++)
		seen->sum = seen->sum * 31 + (unsigned char)*c;
	seen->sum = seen->sum * 31 + line->size;
}

/* Reads the file as read_all() does. */
static int read_pieces(const uint8_t *data, size_t size, size_t piece, struct seen *seen, struct error *err)
{
	const struct reader reader = { see, seen };
	uint64_t left_over = 0, used;
	char *text = malloc(piece + MANIFEST_LINE_BYTES);
	int r = 0;

	must(text);
	for (size_t at = 0; r == 0 && at < size;) {
		size_t bytes = size - at < piece ? size - at : piece;

		memcpy(text + left_over, data + at, bytes);
		r = read_lines(&reader, text, left_over + bytes, &used, err);
		at += bytes;
		left_over += bytes - used;
		memmove(text, text + used, left_over);
	}
	free(text);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = { 0 }, pieces = { 0 };
	struct error err = { 0 };
	int r;

	if (size < 2)
		return 0;
	r = read_pieces(data + 1, size - 1, size - 1, &whole, &err);
	must(r == 0 || *err.text);
	if (r == 0) {
		must(read_pieces(data + 1, size - 1, 1u + data[0], &pieces, &err) == 0);
		must(pieces.lines == whole.lines && pieces.sum == whole.sum);
	}
	return 0;
}
