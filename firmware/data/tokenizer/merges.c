/* SPDX-License-Identifier: Apache-2.0 */
#include "data/tokenizer/merges.h"

#include <inttypes.h>
#include <string.h>

#define NO_PIECE         UINT32_MAX
#define CANDIDATES       3u /* for a byte: its pair at first, and the two pairs that a merge makes */
#define LEAST_ROOM_BYTES 256u

/* A piece of the word, in a list. */
struct merges_piece {
	uint32_t id; /* MERGES_NONE: it was merged into the piece before it */
	uint32_t before, after;
};

/* A pair that may be merged, in a heap: the least rank first, then the leftmost. */
struct merges_candidate {
	uint64_t order; /* rank, then place of the left piece */
	uint32_t id;    /* id of the merged piece */
};

/* ---- The table of merges ---- */

static uint64_t pair_of(uint32_t left, uint32_t right)
{
	return (uint64_t)(left + 1) << 32 | right;
}

static struct merge *place(const struct merges *merges, uint64_t pair)
{
	uint64_t at = mix64(pair) & (merges->capacity - 1);

	while (merges->merge[at].pair && merges->merge[at].pair != pair)
		at = (at + 1) & (merges->capacity - 1);
	return &merges->merge[at];
}

int merges_reserve(struct merges *merges, uint64_t count, struct error *err)
{
	uint64_t capacity = 2;

	while (capacity < 2 * (count + 1))
		capacity *= 2;
	merges->merge = calloc(capacity, sizeof(*merges->merge));
	if (!merges->merge)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " merges", count);
	merges->capacity = capacity;
	return 0;
}

void merges_add(struct merges *merges, uint32_t left, uint32_t right, uint32_t rank, uint32_t id)
{
	const uint64_t pair = pair_of(left, right);

	*place(merges, pair) = (struct merge){ .pair = pair, .rank = rank, .id = id };
}

void merges_done(struct merges *merges)
{
	names_done(&merges->names);
	free(merges->merge);
}

/* ---- The heap ---- */

struct word {
	const struct merges *merges;
	struct merges_piece *piece;
	struct merges_candidate *heap;
	uint32_t candidates;
};

static void push(struct word *word, struct merges_candidate candidate)
{
	uint32_t at = word->candidates++;

	for (; at > 0 && word->heap[(at - 1) / 2].order > candidate.order; at = (at - 1) / 2)
		word->heap[at] = word->heap[(at - 1) / 2];
	word->heap[at] = candidate;
}

static struct merges_candidate pop(struct word *word)
{
	const struct merges_candidate top = word->heap[0], last = word->heap[--word->candidates];
	uint32_t at = 0;

	for (uint32_t child = 1; child < word->candidates; child = 2 * at + 1) {
		if (child + 1 < word->candidates && word->heap[child + 1].order < word->heap[child].order)
			child++;
		if (word->heap[child].order >= last.order)
			break;
		word->heap[at] = word->heap[child];
		at = child;
	}
	word->heap[at] = last;
	return top;
}

/* ---- A word ---- */

static const struct merge *merge_after(const struct word *word, uint32_t left)
{
	const uint32_t right = word->piece[left].after;
	const struct merge *merge;

	if (right == NO_PIECE)
		return NULL;
	merge = place(word->merges, pair_of(word->piece[left].id, word->piece[right].id));
	return merge->pair ? merge : NULL;
}

/* Adds the pair of a piece and the next to the heap, where the file merges it. */
static void consider(struct word *word, uint32_t left)
{
	const struct merge *merge = merge_after(word, left);

	if (merge)
		push(word, (struct merges_candidate){ (uint64_t)merge->rank << 32 | left, merge->id });
}

static void merge_pieces(struct word *word, uint32_t left, uint32_t id)
{
	struct merges_piece *piece = &word->piece[left], *gone = &word->piece[piece->after];

	piece->id = id;
	piece->after = gone->after;
	gone->id = MERGES_NONE;
	if (piece->after != NO_PIECE)
		word->piece[piece->after].before = left;
	if (piece->before != NO_PIECE)
		consider(word, piece->before);
	consider(word, left);
}

/* Sets the list to the word's bytes. Returns their number, without those that have no id. */
static uint32_t list_bytes(struct word *word, const char *text, uint64_t bytes)
{
	uint32_t pieces = 0;

	for (uint64_t i = 0; i < bytes; i++) {
		const uint32_t id = word->merges->byte[(unsigned char)text[i]];

		if (id != MERGES_NONE) {
			word->piece[pieces] = (struct merges_piece){ id, pieces - 1, pieces + 1 };
			pieces++;
		}
	}
	if (pieces) {
		word->piece[0].before = NO_PIECE;
		word->piece[pieces - 1].after = NO_PIECE;
	}
	return pieces;
}

static int make_room(struct merges_room *room, uint64_t bytes)
{
	const uint64_t capacity = bytes < LEAST_ROOM_BYTES ? LEAST_ROOM_BYTES : 2 * bytes;

	if (bytes <= room->capacity)
		return 0;
	merges_room_done(room);
	room->piece = malloc(capacity * sizeof(*room->piece));
	room->heap = malloc(CANDIDATES * capacity * sizeof(*room->heap));
	room->capacity = room->piece && room->heap ? capacity : 0;
	return room->capacity ? 0 : -ENOMEM;
}

int64_t merges_encode(const struct merges *merges, struct merges_room *room, const char *text, uint64_t bytes,
		      uint32_t *ret_ids)
{
	const struct name *whole =
		merges->whole_first ? names_find(&merges->names, names_hash_of(text, bytes), text, bytes)
				    : NULL;
	struct word word = { .merges = merges };
	uint32_t pieces, ids = 0;

	if (whole) {
		ret_ids[0] = whole->id;
		return 1;
	}
	if (make_room(room, bytes) < 0)
		return -ENOMEM;
	word.piece = room->piece;
	word.heap = room->heap;
	pieces = list_bytes(&word, text, bytes);
	for (uint32_t i = 0; i + 1 < pieces; i++)
		consider(&word, i);
	while (word.candidates) {
		const struct merges_candidate best = pop(&word);
		const uint32_t left = (uint32_t)best.order;
		const struct merge *merge =
			word.piece[left].id == MERGES_NONE ? NULL : merge_after(&word, left);

		/* A candidate is old where its pieces were merged with others meanwhile. */
		if (merge && merge->id == best.id)
			merge_pieces(&word, left, best.id);
	}
	for (uint32_t i = pieces ? 0 : NO_PIECE; i != NO_PIECE; i = word.piece[i].after)
		ret_ids[ids++] = word.piece[i].id;
	return ids;
}

void merges_room_done(struct merges_room *room)
{
	free(room->piece);
	free(room->heap);
	*room = (struct merges_room){ 0 };
}
