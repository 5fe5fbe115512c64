/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the member "model" of tokenizer.json: the pieces, and for BPE the merges. */
#include "data/tokenizer/parts.h"
#include "data/tokenizer/unicode.h"

#include <inttypes.h>
#include <string.h>

#define WORD_CHARACTERS 100u

/* ---- vocab ---- */

/* Adds a piece. One of BPE that stands for no bytes, such as a special token's, is in no word: it is kept by
 * its text, for id_of(). */
static int add_piece(struct tokenizer *tokenizer, const char *text, uint32_t id, struct error *err)
{
	char *kept = tokenizer->names + tokenizer->names_bytes;
	uint32_t bytes = tokenizer->merging ? keep_bytes(text, kept) : 0;
	const bool of_bytes = bytes > 0;

	keep_id(tokenizer, id);
	tokenizer->vocabulary++;
	if (!of_bytes) {
		bytes = (uint32_t)strlen(text);
		memcpy(kept, text, bytes);
	}
	if (bytes == 0)
		return 0;
	tokenizer->names_bytes += bytes;
	return of_bytes ? names_add(&tokenizer->merges.names, kept, bytes, id, err)
			: keep_piece(tokenizer, kept, bytes, id, err);
}

static int read_vocabulary(struct tokenizer *tokenizer, const struct path_object *model, struct error *err)
{
	struct path_object vocabulary;
	const cJSON *piece;
	int r = path_object(model, "vocab", &vocabulary, err);

	if (r < 0)
		return r;
	cJSON_ArrayForEach(piece, vocabulary.json) {
		const double id = cJSON_IsNumber(piece) ? piece->valuedouble : -1;

		if (!(id >= 0 && id < TOKENIZER_IDS_MAX) || id != (double)(uint32_t)id)
			return path_id(&vocabulary, piece->string, TOKENIZER_IDS_MAX, &(uint32_t){ 0 }, err);
		r = add_piece(tokenizer, piece->string, (uint32_t)id, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- WordPiece ---- */

static int read_pieces(struct tokenizer *tokenizer, const struct path_object *model, struct error *err)
{
	struct pieces *pieces = &tokenizer->pieces;
	const char *unknown, *later;
	int r;

	pieces->word_max = WORD_CHARACTERS;
	if ((r = path_only(model, "type unk_token continuing_subword_prefix max_input_chars_per_word vocab ",
			   err)) < 0 ||
	    (r = path_string(model, "continuing_subword_prefix", &later, err)) < 0 ||
	    (path_has(model, "max_input_chars_per_word") &&
	     (r = path_id(model, "max_input_chars_per_word", PIECES_WORD_MAX + 1, &pieces->word_max, err)) <
		     0) ||
	    (r = path_string(model, "unk_token", &unknown, err)) < 0)
		return r;
	/* Pieces with this mark are looked up apart, so no word may begin with it: a mark of punctuation is a
	 * word of its own. */
	if (!unicode_is_punctuation((unsigned char)*later) || strlen(later) >= sizeof(tokenizer->later))
		return path_refuse(model, "continuing_subword_prefix",
				   "at most 15 bytes that begin with a mark of punctuation, such as \"##\"",
				   err);
	(void)strcpy(tokenizer->later, later);
	r = read_vocabulary(tokenizer, model, err);
	if (r < 0)
		return r;
	pieces->unknown = id_of(tokenizer, unknown);
	return pieces->unknown == MERGES_NONE ? path_refuse(model, "unk_token", "a token of model.vocab", err)
					      : 0;
}

/* ---- BPE ---- */

/* The texts of a merge's pieces, which stand as "LEFT RIGHT" or as ["LEFT", "RIGHT"]. */
struct texts {
	const char *left, *right;
	size_t left_bytes;
};

static bool texts_of(const cJSON *merge, struct texts *ret)
{
	const char *space;

	if (cJSON_IsArray(merge) && cJSON_GetArraySize(merge) == 2 && cJSON_IsString(merge->child) &&
	    cJSON_IsString(merge->child->next)) {
		*ret = (struct texts){ merge->child->valuestring, merge->child->next->valuestring,
				       strlen(merge->child->valuestring) };
		return true;
	}
	if (!cJSON_IsString(merge) || !(space = strchr(merge->valuestring, ' ')) || strchr(space + 1, ' '))
		return false;
	*ret = (struct texts){ merge->valuestring, space + 1, (size_t)(space - merge->valuestring) };
	return true;
}

/* Adds a merge: both pieces and the merged piece have ids. */
static int add_merge(struct tokenizer *tokenizer, const cJSON *merge, uint32_t rank, struct error *err)
{
	uint32_t left, right, merged;
	CLEANUP(free_ptr) char *text = NULL;
	struct texts texts;
	char *gap;

	if (!texts_of(merge, &texts))
		return error_set(err, -EBADMSG, "expected two pieces");
	text = malloc(texts.left_bytes + strlen(texts.right) + 1);
	if (!text)
		return error_set(err, -ENOMEM, "no memory for a merge");
	gap = text + texts.left_bytes;
	memcpy(text, texts.left, texts.left_bytes);
	*gap = '\0';
	left = id_of(tokenizer, text);
	right = id_of(tokenizer, texts.right);
	strcpy(gap, texts.right);
	merged = id_of(tokenizer, text);
	if (left == MERGES_NONE || right == MERGES_NONE || merged == MERGES_NONE)
		return error_set(err, -EBADMSG, "\"%.*s\" and \"%.40s\": found no id for %s in model.vocab",
				 texts.left_bytes < 40 ? (int)texts.left_bytes : 40, texts.left, texts.right,
				 left == MERGES_NONE    ? "the first"
				 : right == MERGES_NONE ? "the second"
							: "both together");
	merges_add(&tokenizer->merges, left, right, rank, merged);
	return 0;
}

static int read_merges(struct tokenizer *tokenizer, const struct path_object *model, struct error *err)
{
	const cJSON *list, *merge;
	uint32_t rank = 0;
	int r = path_array(model, "merges", &list, err);

	if (r == 0)
		r = merges_reserve(&tokenizer->merges, (uint64_t)cJSON_GetArraySize(list), err);
	if (r < 0)
		return r;
	cJSON_ArrayForEach(merge, list) {
		r = add_merge(tokenizer, merge, rank, err);
		if (r < 0)
			return error_prefix(err, "tokenizer.json: model.merges[%u]", rank);
		rank++;
	}
	return 0;
}

static int read_bpe(struct tokenizer *tokenizer, const struct path_object *model, struct error *err)
{
	static const char *const absent[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix",
					      "fuse_unk", "byte_fallback" };
	struct merges *merges = &tokenizer->merges;
	uint32_t unknown = MERGES_NONE;
	const char *text;
	int r = path_only(model,
			  "type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk "
			  "byte_fallback ignore_merges vocab merges ",
			  err);

	for (size_t i = 0; r == 0 && i < sizeof(absent) / sizeof(absent[0]); i++)
		r = path_empty_member(model, absent[i], err);
	if (r < 0 || (r = path_bool(model, "ignore_merges", false, &merges->whole_first, err)) < 0 ||
	    (r = read_vocabulary(tokenizer, model, err)) < 0 || (r = read_merges(tokenizer, model, err)) < 0)
		return r;
	if (path_has(model, "unk_token")) {
		r = path_string(model, "unk_token", &text, err);
		if (r < 0)
			return r;
		unknown = id_of(tokenizer, text);
		if (unknown == MERGES_NONE && *text)
			return path_refuse(model, "unk_token", "a token of model.vocab", err);
	}
	for (unsigned byte = 0; byte < 256; byte++) {
		const char name = (char)byte;
		const struct name *found = names_find(&merges->names, names_hash_of(&name, 1), &name, 1);

		merges->byte[byte] = found ? found->id : unknown;
	}
	return 0;
}

int read_model(struct tokenizer *tokenizer, const struct path_object *model, struct error *err)
{
	const char *type = path_has(model, "merges") ? "BPE" : "WordPiece"; /* old files do not say it */
	int r = path_has(model, "type") ? path_string(model, "type", &type, err) : 0;

	if (r < 0)
		return r;
	tokenizer->merging = strcmp(type, "BPE") == 0;
	if (tokenizer->merging)
		return read_bpe(tokenizer, model, err);
	if (strcmp(type, "WordPiece") == 0)
		return read_pieces(tokenizer, model, err);
	return path_refuse(model, "type", "WordPiece or BPE", err);
}
