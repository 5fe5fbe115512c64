/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/tokenizer.h"

#include "core/base/utf8.h"
#include "data/tokenizer/cache.h"
#include "data/tokenizer/parts.h"

#include <inttypes.h>
#include <string.h>

struct tokenizer_thread {
	const struct tokenizer *tokenizer;
	struct cached_word *cache;
	struct normal_marks marks;
	struct merges_room room;
	char *normal, *spaced; /* a part of the text after the normaliser; with a space before it */
	uint64_t normal_capacity, spaced_capacity;
	uint32_t *id;
	uint64_t ids, capacity;
};

/* ---- The tokenizer ---- */

/* JSON begins with a brace, vocab.txt with a piece. JSON may have white space before it. */
static bool is_json(const char *file, uint64_t bytes)
{
	uint64_t at = utf8_mark(file, bytes);

	while (at < bytes && memchr(" \t\r\n", file[at], 4))
		at++;
	return at < bytes && file[at] == '{';
}

int tokenizer_parse(const char *file, uint64_t bytes, struct tokenizer **ret_tokenizer, struct error *err)
{
	CLEANUP(tokenizer_freep) struct tokenizer *tokenizer = calloc(1, sizeof(*tokenizer));
	int r;

	if (bytes > TOKENIZER_FILE_MAX)
		return error_set(err, -E2BIG, "tokenizer: found %" PRIu64 " bytes, at most %u are allowed",
				 bytes, TOKENIZER_FILE_MAX);
	if (tokenizer) {
		tokenizer->file = malloc(bytes + 1);
		tokenizer->names = malloc(NORMAL_GROWTH * bytes + 1);
	}
	if (!tokenizer || !tokenizer->file || !tokenizer->names)
		return error_set(err, -ENOMEM, "no memory for a tokenizer");
	memcpy(tokenizer->file, file, bytes);
	tokenizer->file[bytes] = '\0';
	tokenizer->bytes = bytes;
	tokenizer->most = UINT64_MAX;
	r = is_json(file, bytes) ? read_json(tokenizer, err) : read_lines(tokenizer, err);
	if (r < 0)
		return r;
	added_sort(&tokenizer->raw);
	added_sort(&tokenizer->normalised);
	*ret_tokenizer = TAKE(tokenizer);
	return 0;
}

void tokenizer_free(struct tokenizer *tokenizer)
{
	if (!tokenizer)
		return;
	added_done(&tokenizer->raw);
	added_done(&tokenizer->normalised);
	names_done(&tokenizer->pieces.first);
	names_done(&tokenizer->pieces.later);
	merges_done(&tokenizer->merges);
	free(tokenizer->names);
	free(tokenizer->file);
	free(tokenizer);
}

void tokenizer_freep(struct tokenizer **tokenizer)
{
	tokenizer_free(*tokenizer);
}

const char *tokenizer_file(const struct tokenizer *tokenizer, uint64_t *ret_bytes)
{
	*ret_bytes = tokenizer->bytes;
	return tokenizer->file;
}

uint32_t tokenizer_size(const struct tokenizer *tokenizer)
{
	return tokenizer->size;
}

uint32_t tokenizer_specials(const struct tokenizer *tokenizer)
{
	return all_specials(tokenizer);
}

uint32_t tokenizer_id(const struct tokenizer *tokenizer, const char *text)
{
	const uint32_t id = id_of(tokenizer, text);

	return id == MERGES_NONE ? TOKENIZER_ID_NONE : id;
}

struct tokenizer_normal tokenizer_normal(const struct tokenizer *tokenizer)
{
	const struct normal *normal = &tokenizer->normal;

	return (struct tokenizer_normal){ .lower = normal->lower,
					  .accents = normal->accents,
					  .chinese = normal->chinese };
}

void tokenizer_cut_at(struct tokenizer *tokenizer, uint64_t most)
{
	tokenizer->most = most;
}

/* ---- A thread's memory ---- */

int tokenizer_open(const struct tokenizer *tokenizer, struct tokenizer_thread **ret_thread, struct error *err)
{
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = calloc(1, sizeof(*thread));

	if (thread) {
		thread->tokenizer = tokenizer;
		thread->cache = calloc(CACHE_WORDS, sizeof(*thread->cache));
	}
	if (!thread || !thread->cache)
		return error_set(err, -ENOMEM, "no memory for a tokenizer's thread");
	*ret_thread = TAKE(thread);
	return 0;
}

void tokenizer_closep(struct tokenizer_thread **ret_thread)
{
	struct tokenizer_thread *thread = *ret_thread;

	if (!thread)
		return;
	normal_marks_done(&thread->marks);
	merges_room_done(&thread->room);
	free(thread->cache);
	free(thread->normal);
	free(thread->spaced);
	free(thread->id);
	free(thread);
}

/* Makes room for `bytes` bytes; what is in the memory is lost. */
static int make_room(char **memory, uint64_t *capacity, uint64_t bytes)
{
	if (bytes <= *capacity)
		return 0;
	free(*memory);
	*memory = malloc(2 * bytes);
	*capacity = *memory ? 2 * bytes : 0;
	return *memory ? 0 : -ENOMEM;
}

/* Makes room for `more` further ids. */
static int make_id_room(struct tokenizer_thread *thread, uint64_t more)
{
	const uint64_t capacity = 2 * (thread->ids + more);
	void *grown;

	if (thread->ids + more <= thread->capacity)
		return 0;
	grown = realloc(thread->id, capacity * sizeof(*thread->id));
	if (!grown)
		return -ENOMEM;
	thread->id = grown;
	thread->capacity = capacity;
	return 0;
}

/* ---- A text's ids ---- */

/* Adds the ids of a word; there is room for them. */
static int add_word(struct tokenizer_thread *thread, const char *word, uint64_t bytes)
{
	const struct tokenizer *tokenizer = thread->tokenizer;
	struct cached_word *place = cache_place(thread->cache, word, bytes);
	uint32_t *id = thread->id + thread->ids;
	int64_t ids;

	if (place && cache_has(place, word, bytes)) {
		memcpy(id, place->id, place->ids * sizeof(*id));
		thread->ids += place->ids;
		return 0;
	}
	ids = tokenizer->merging ? merges_encode(&tokenizer->merges, &thread->room, word, bytes, id)
				 : pieces_encode(&tokenizer->pieces, word, bytes, id);
	if (ids < 0)
		return (int)ids;
	if (place)
		cache_keep(place, word, bytes, id, (uint64_t)ids);
	thread->ids += (uint64_t)ids;
	return 0;
}

/* Adds the ids of a part without added tokens. */
static int add_words(struct tokenizer_thread *thread, const char *text, uint64_t bytes)
{
	const struct tokenizer *tokenizer = thread->tokenizer;
	struct split_text words = { .text = text, .bytes = bytes };
	int r = make_id_room(thread, bytes + 1);

	if (r == 0 && tokenizer->prefix_space && bytes > 0 && *text != ' ') {
		r = make_room(&thread->spaced, &thread->spaced_capacity, bytes + 1);
		if (r < 0)
			return r;
		*thread->spaced = ' ';
		memcpy(thread->spaced + 1, text, bytes);
		words = (struct split_text){ .text = thread->spaced, .bytes = bytes + 1 };
	}
	while (r == 0 && split_next(&tokenizer->split, &words))
		r = add_word(thread, words.text + words.start, words.at - words.start);
	return r;
}

/* Adds the ids of a text: each token of the list has its id, and `add` adds the ids of the parts between. */
static int add_parts(struct tokenizer_thread *thread, const struct added *added, const char *text,
		     uint64_t bytes, int (*add)(struct tokenizer_thread *, const char *, uint64_t))
{
	struct added_match match;
	uint64_t at = 0;
	int r = 0;

	for (; r == 0 && added_find(added, text, bytes, at, &match); at = match.end) {
		if (match.start > at)
			r = add(thread, text + at, match.start - at);
		if (r == 0 && (r = make_id_room(thread, 1)) == 0)
			thread->id[thread->ids++] = match.token->id;
	}
	return r == 0 && at < bytes ? add(thread, text + at, bytes - at) : r;
}

static int add_normalised(struct tokenizer_thread *thread, const char *text, uint64_t bytes)
{
	const struct tokenizer *tokenizer = thread->tokenizer;
	int64_t length;

	if (!tokenizer->normalises)
		return add_parts(thread, &tokenizer->normalised, text, bytes, add_words);
	if (make_room(&thread->normal, &thread->normal_capacity, NORMAL_GROWTH * bytes) < 0)
		return -ENOMEM;
	length = normal_text(&tokenizer->normal, &thread->marks, text, bytes, thread->normal);
	return length < 0 ? (int)length
			  : add_parts(thread, &tokenizer->normalised, thread->normal, (uint64_t)length,
				      add_words);
}

/* Returns the bytes of utf8_repaired()'s copy, in which each wrong byte is a character of 3 bytes. */
static uint64_t repaired_bytes(const char *text, uint64_t bytes)
{
	uint64_t total = bytes;

	for (uint64_t at = utf8_valid_bytes(text, bytes); at < bytes;
	     at += 1 + utf8_valid_bytes(text + at + 1, bytes - at - 1))
		total += 2;
	return total;
}

static int add_text(struct tokenizer_thread *thread, const char *text, uint64_t bytes)
{
	CLEANUP(free_ptr) char *repaired = NULL;

	thread->ids = 0;
	if (make_id_room(thread, 1) < 0)
		return -ENOMEM;
	if (utf8_valid_bytes(text, bytes) < bytes) {
		repaired = utf8_repaired(text, bytes);
		if (!repaired)
			return -ENOMEM;
		bytes = repaired_bytes(text, bytes);
		text = repaired;
	}
	return add_parts(thread, &thread->tokenizer->raw, text, bytes, add_normalised);
}

static uint64_t fewer(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns how many of a text's own ids stay where it has at most `most` with the special ids. */
static uint64_t kept(const struct tokenizer_thread *thread, uint64_t most)
{
	const uint64_t specials = tokenizer_specials(thread->tokenizer);

	return fewer(thread->ids, most > specials ? most - specials : 0);
}

/* Writes ids behind the first *at; there is room for `max`. */
static void write_ids(const uint32_t *id, uint64_t ids, int64_t *ret_ids, uint64_t max, uint64_t *at)
{
	for (uint64_t i = 0; i < ids && *at < max; i++)
		ret_ids[(*at)++] = id[i];
}

int64_t tokenizer_encode(struct tokenizer_thread *thread, const char *text, uint64_t bytes, int64_t *ret_ids,
			 uint64_t max)
{
	const struct tokenizer *tokenizer = thread->tokenizer;
	uint64_t own, at = 0;
	int r = add_text(thread, text, bytes);

	if (r < 0)
		return r;
	own = kept(thread, fewer(tokenizer->most, max));
	write_ids(tokenizer->before.id, tokenizer->before.ids, ret_ids, max, &at);
	write_ids(thread->id + (tokenizer->cut_left ? thread->ids - own : 0), own, ret_ids, max, &at);
	write_ids(tokenizer->after.id, tokenizer->after.ids, ret_ids, max, &at);
	return (int64_t)(kept(thread, tokenizer->most) + tokenizer_specials(tokenizer));
}
