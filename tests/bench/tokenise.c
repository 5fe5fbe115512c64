/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times a tokeniser: tokenise TOKENIZER TEXTS THREADS. TEXTS has for each text its bytes as uint32, then the
 * text. The threads take runs of texts in turn. Prints the seconds of each round, and the ids of a round.
 */
#include "data/tokenizer/tokenizer.h"
#include "tests/bench/measure.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define ROUNDS      5u
#define THREADS_MAX 64u
#define RUN         64u /* texts that a thread takes at once */
#define IDS_MAX     65536u

struct bench {
	struct tokenizer *tokenizer;
	const char **text;
	uint32_t *bytes;
	uint64_t texts;
	atomic_uint_fast64_t next, ids;
};

static char *read_all(const char *path, uint64_t *ret_bytes)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rbe");
	char *data = NULL;

	if (!file || fseek(file, 0, SEEK_END) < 0)
		return NULL;
	*ret_bytes = (uint64_t)ftell(file);
	rewind(file);
	data = malloc(*ret_bytes + 1);
	if (data && fread(data, 1, *ret_bytes, file) == *ret_bytes)
		return data;
	free(data);
	return NULL;
}

/* A thread begins with an empty cache, as each call of `kiln prep` does. */
static void *work(void *context)
{
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = NULL;
	struct bench *bench = context;
	CLEANUP(free_ptr) int64_t *id = malloc(IDS_MAX * sizeof(*id));
	uint64_t ids = 0;

	if (!id || tokenizer_open(bench->tokenizer, &thread, NULL) < 0)
		abort();
	for (;;) {
		/* relaxed: only the numbers are shared, and the threads are joined before they are read. */
		const uint64_t first = atomic_fetch_add_explicit(&bench->next, RUN, memory_order_relaxed);

		if (first >= bench->texts)
			break;
		for (uint64_t i = first; i < first + RUN && i < bench->texts; i++)
			ids += (uint64_t)tokenizer_encode(thread, bench->text[i], bench->bytes[i], id,
							  IDS_MAX);
	}
	atomic_fetch_add_explicit(&bench->ids, ids, memory_order_relaxed);
	return NULL;
}

static double round_of(struct bench *bench, uint32_t threads)
{
	pthread_t thread[THREADS_MAX];
	const double start = now_us();

	atomic_store_explicit(&bench->next, 0, memory_order_relaxed);
	atomic_store_explicit(&bench->ids, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, bench) != 0)
			abort();
	for (uint32_t i = 0; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	return (now_us() - start) / 1e6;
}

/* Lists the texts of a file. */
static bool list(struct bench *bench, const char *data, uint64_t bytes)
{
	uint64_t capacity = 0;

	for (uint64_t at = 0; at + sizeof(uint32_t) <= bytes;) {
		if (bench->texts == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			bench->text = realloc(bench->text, capacity * sizeof(*bench->text));
			bench->bytes = realloc(bench->bytes, capacity * sizeof(*bench->bytes));
			if (!bench->text || !bench->bytes)
				return false;
		}
		memcpy(&bench->bytes[bench->texts], data + at, sizeof(uint32_t));
		bench->text[bench->texts] = data + at + sizeof(uint32_t);
		at += sizeof(uint32_t) + bench->bytes[bench->texts++];
	}
	return true;
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };
	struct error err = { 0 };
	uint64_t file_bytes, bytes;
	CLEANUP(free_ptr) char *file = argc == 4 ? read_all(argv[1], &file_bytes) : NULL;
	CLEANUP(free_ptr) char *texts = argc == 4 ? read_all(argv[2], &bytes) : NULL;
	const uint64_t threads = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;

	if (!file || !texts || threads == 0 || threads > THREADS_MAX || !list(&bench, texts, bytes))
		return 2;
	if (tokenizer_parse(file, file_bytes, &bench.tokenizer, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (uint32_t round = 0; round < ROUNDS; round++) {
		const double seconds = round_of(&bench, (uint32_t)threads);

		printf("%.6f %" PRIuFAST64 "\n", seconds, bench.ids);
	}
	tokenizer_freep(&bench.tokenizer);
	free(bench.text);
	free(bench.bytes);
	return 0;
}
