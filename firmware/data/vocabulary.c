/* SPDX-License-Identifier: Apache-2.0 */
#include "data/vocabulary.h"

#include "data/text_tokens.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_TEXT "[UNK]"

/* A run of words. Two runs with the same hash count as one run. */
struct entry {
	uint64_t hash;  /* 0 = the entry is empty */
	uint32_t count; /* while counting: texts that have the run; in a vocabulary: the run's token */
	uint32_t last;  /* 1 + the index of the last text that has the run */
	uint32_t words;
	uint32_t bytes;
	const char *at; /* the first occurrence in a text */
};

/* A hash table with open addressing, at most half full. */
struct table {
	struct entry *entry;
	uint64_t capacity, used; /* capacity: a power of two */
};

struct vocabulary {
	struct table table;
	uint32_t size, ngrams;
	char *file;
	uint64_t bytes;
};

/* ---- The table ---- */

static struct entry *find(const struct table *table, uint64_t hash)
{
	uint64_t at = hash & (table->capacity - 1);

	while (table->entry[at].hash && table->entry[at].hash != hash)
		at = (at + 1) & (table->capacity - 1);
	return &table->entry[at];
}

static int grow(struct table *table, struct error *err)
{
	struct table larger = { .capacity = table->capacity ? 2 * table->capacity : 1024,
				.used = table->used };

	larger.entry = calloc(larger.capacity, sizeof(*larger.entry));
	if (!larger.entry)
		return error_set(err, -ENOMEM, "no memory for a vocabulary of %ju", (uintmax_t)table->used);
	for (uint64_t i = 0; i < table->capacity; i++)
		if (table->entry[i].hash)
			*find(&larger, table->entry[i].hash) = table->entry[i];
	free(table->entry);
	*table = larger;
	return 0;
}

/* Returns the entry of a hash, and makes it where there is none. NULL: no memory. */
static struct entry *find_or_add(struct table *table, uint64_t hash, struct error *err)
{
	struct entry *entry;

	if (2 * (table->used + 1) > table->capacity && grow(table, err) < 0)
		return NULL;
	entry = find(table, hash);
	if (!entry->hash) {
		entry->hash = hash;
		table->used++;
	}
	return entry;
}

/* ---- Runs of words ---- */

/* The runs of 1 .. VOCABULARY_NGRAM_MAX words that end with the newest word of a text. */
struct runs {
	uint32_t words;                          /* length of the longest run */
	uint64_t hash[VOCABULARY_NGRAM_MAX];     /* [n]: of the run of n + 1 words */
	const char *start[VOCABULARY_NGRAM_MAX]; /* [n]: where the run of n + 1 words begins */
	uint64_t single[VOCABULARY_NGRAM_MAX];   /* [n]: hash of the word n words back alone */
};

static void runs_add(struct runs *runs, const struct text_word *word)
{
	memmove(runs->start + 1, runs->start, sizeof(runs->start) - sizeof(runs->start[0]));
	memmove(runs->single + 1, runs->single, sizeof(runs->single) - sizeof(runs->single[0]));
	runs->start[0] = word->text;
	runs->single[0] = text_word_hash(word);
	if (runs->words < VOCABULARY_NGRAM_MAX)
		runs->words++;
	for (uint32_t n = 0; n < runs->words; n++) {
		uint64_t hash = runs->single[n];

		for (uint32_t i = n; i-- > 0;)
			hash = text_pair_hash(hash, runs->single[i]);
		runs->hash[n] = hash ? hash : 1;
	}
}

static uint32_t fewer(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int count_text(struct vocabulary *vocabulary, const char *text, uint64_t bytes, uint32_t index,
		      struct error *err)
{
	struct runs runs = { 0 };
	struct text_word word;
	uint64_t at = 0;

	while (text_next_word(text, bytes, &at, &word)) {
		runs_add(&runs, &word);
		for (uint32_t n = 0; n < fewer(runs.words, vocabulary->ngrams); n++) {
			struct entry *entry = find_or_add(&vocabulary->table, runs.hash[n], err);

			if (!entry)
				return err->code;
			if (!entry->at) {
				entry->at = runs.start[n];
				entry->bytes = (uint32_t)(word.text + word.bytes - entry->at);
				entry->words = n + 1;
			}
			if (entry->last != index + 1)
				entry->count++;
			entry->last = index + 1;
		}
	}
	return 0;
}

/* ---- The file ---- */

/* Prints a run's words in lower case, with a space between them. */
static void print_run(const struct entry *entry, FILE *out)
{
	struct text_word word;
	uint64_t at = 0;

	for (uint32_t i = 0; text_next_word(entry->at, entry->bytes, &at, &word); i++) {
		if (i)
			(void)fputc(' ', out);
		for (uint64_t j = 0; j < word.bytes; j++)
			(void)fputc(text_lower(word.text[j]), out);
	}
}

static int compare_words(const struct text_word *a, const struct text_word *b)
{
	for (uint64_t i = 0; i < a->bytes && i < b->bytes; i++) {
		int order = (unsigned char)text_lower(a->text[i]) - (unsigned char)text_lower(b->text[i]);

		if (order)
			return order;
	}
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare_runs(const struct entry *x, const struct entry *y)
{
	struct text_word a, b;
	uint64_t x_at = 0, y_at = 0;

	while (text_next_word(x->at, x->bytes, &x_at, &a) && text_next_word(y->at, y->bytes, &y_at, &b)) {
		int order = compare_words(&a, &b);

		if (order)
			return order;
	}
	return (x->words > y->words) - (x->words < y->words);
}

static int more_frequent(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : compare_runs(x, y);
}

/* Sorts the runs that occur in two texts or more to the front, the most frequent first. Afterwards the
 * entries are a list and the table cannot be searched. Returns their number. */
static uint64_t rank(struct table *table)
{
	uint64_t runs = 0;

	for (uint64_t i = 0; i < table->capacity; i++)
		if (table->entry[i].hash && table->entry[i].count > 1)
			table->entry[runs++] = table->entry[i];
	if (runs)
		qsort(table->entry, runs, sizeof(*table->entry), more_frequent);
	return runs;
}

static int print_file(const struct table *table, uint64_t runs, char **ret_file, size_t *ret_bytes,
		      struct error *err)
{
	FILE *out = open_memstream(ret_file, ret_bytes);

	if (!out)
		return error_set(err, -ENOMEM, "no memory for a vocabulary");
	(void)fputs("\n" UNKNOWN_TEXT "\n", out);
	for (uint64_t i = 0; i < runs; i++) {
		print_run(&table->entry[i], out);
		(void)fputc('\n', out);
	}
	return fclose(out) == 0 ? 0 : error_set(err, -ENOMEM, "no memory for a vocabulary");
}

int vocabulary_fit(const char *const *text, const uint64_t *bytes, uint32_t texts, uint32_t max,
		   uint32_t ngrams, struct vocabulary **ret_vocabulary, struct error *err)
{
	struct vocabulary counts = { .ngrams = ngrams };
	CLEANUP(free_ptr) char *file = NULL;
	size_t file_bytes = 0;
	uint64_t runs;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < texts; i++)
		r = count_text(&counts, text[i], bytes[i], i, err);
	if (r == 0) {
		runs = rank(&counts.table);
		r = print_file(&counts.table, runs < max - VOCABULARY_FIRST ? runs : max - VOCABULARY_FIRST,
			       &file, &file_bytes, err);
	}
	free(counts.table.entry);
	return r < 0 ? r : vocabulary_parse(file, file_bytes, ret_vocabulary, err);
}

/* Adds one line of the file to the table. */
static int add_line(struct vocabulary *vocabulary, const char *line, uint64_t bytes, struct error *err)
{
	struct runs runs = { 0 };
	struct text_word word;
	struct entry *entry;
	uint64_t at = 0;

	while (runs.words < VOCABULARY_NGRAM_MAX && text_next_word(line, bytes, &at, &word))
		runs_add(&runs, &word);
	if (runs.words == 0 || at != bytes)
		return error_set(err, -EBADMSG, "found \"%.*s\", expected 1 .. %u words",
				 (int)fewer((uint32_t)bytes, 80), line, VOCABULARY_NGRAM_MAX);
	entry = find_or_add(&vocabulary->table, runs.hash[runs.words - 1], err);
	if (!entry)
		return err->code;
	if (entry->words)
		return error_set(err, -EBADMSG, "\"%.*s\" is already in line %u",
				 (int)fewer((uint32_t)bytes, 80), line, entry->count + 1);
	entry->words = runs.words;
	entry->count = vocabulary->size;
	if (runs.words > vocabulary->ngrams)
		vocabulary->ngrams = runs.words;
	return 0;
}

static int parse_lines(struct vocabulary *vocabulary, struct error *err)
{
	static const char head[] = "\n" UNKNOWN_TEXT "\n";
	const char *at = vocabulary->file, *end = at + vocabulary->bytes;

	if (vocabulary->bytes < sizeof(head) - 1 || memcmp(at, head, sizeof(head) - 1) != 0)
		return error_set(err, -EBADMSG, "expected an empty line and " UNKNOWN_TEXT " at its start");
	vocabulary->size = VOCABULARY_FIRST;
	for (at += sizeof(head) - 1; at < end; vocabulary->size++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		int r;

		if (!line_end || vocabulary->size == VOCABULARY_MAX)
			return error_set(err, -EBADMSG, "line %u: %s", vocabulary->size + 1,
					 line_end ? "too many tokens" : "the line has no end");

		r = add_line(vocabulary, at, (uint64_t)(line_end - at), err);
		if (r < 0)
			return error_prefix(err, "line %u", vocabulary->size + 1);
		at = line_end + 1;
	}
	return vocabulary->table.capacity ? 0 : grow(&vocabulary->table, err);
}

int vocabulary_parse(const char *file, uint64_t bytes, struct vocabulary **ret_vocabulary, struct error *err)
{
	CLEANUP(vocabulary_freep) struct vocabulary *vocabulary = calloc(1, sizeof(*vocabulary));
	int r;

	if (bytes > VOCABULARY_FILE_MAX)
		return error_set(err, -EBADMSG, "vocabulary: %" PRIu64 " bytes, at most %u are allowed",
				 bytes, VOCABULARY_FILE_MAX);
	if (vocabulary)
		vocabulary->file = malloc(bytes + 1);
	if (!vocabulary || !vocabulary->file)
		return error_set(err, -ENOMEM, "no memory for a vocabulary");
	memcpy(vocabulary->file, file, bytes);
	vocabulary->file[bytes] = '\0';
	vocabulary->bytes = bytes;
	vocabulary->ngrams = 1;
	r = parse_lines(vocabulary, err);
	if (r < 0)
		return error_prefix(err, "vocabulary");
	*ret_vocabulary = TAKE(vocabulary);
	return 0;
}

void vocabulary_free(struct vocabulary *vocabulary)
{
	if (!vocabulary)
		return;
	free(vocabulary->table.entry);
	free(vocabulary->file);
	free(vocabulary);
}

void vocabulary_freep(struct vocabulary **vocabulary)
{
	vocabulary_free(*vocabulary);
}

const char *vocabulary_file(const struct vocabulary *vocabulary, uint64_t *ret_bytes)
{
	*ret_bytes = vocabulary->bytes;
	return vocabulary->file;
}

uint32_t vocabulary_size(const struct vocabulary *vocabulary)
{
	return vocabulary->size;
}

/* ---- Texts to tokens ---- */

uint64_t vocabulary_encode(const struct vocabulary *vocabulary, const char *text, uint64_t bytes,
			   int64_t *ret_tokens, uint64_t max)
{
	struct runs runs = { 0 };
	struct text_word word;
	uint64_t at = 0, tokens = 0;

	while (text_next_word(text, bytes, &at, &word)) {
		runs_add(&runs, &word);
		for (uint32_t n = 0; n < fewer(runs.words, vocabulary->ngrams); n++) {
			const struct entry *entry = find(&vocabulary->table, runs.hash[n]);

			if (!entry->hash && n > 0)
				continue;
			if (tokens < max)
				ret_tokens[tokens] = entry->hash ? entry->count : VOCABULARY_UNKNOWN;
			tokens++;
		}
	}
	return tokens;
}
