/* SPDX-License-Identifier: Apache-2.0 */
/* Records of tokens (`tokens`, ragged int64), and the label, one-hot. The tokens are the numbers of the words
 * of a text in a vocabulary that is made from the texts, or the ids that a pretrained model's tokenizer
 * makes. */
#include "cli/prep/labelled.h"
#include "core/base/paths.h"
#include "drivers/digest/digest.h"

#include <inttypes.h>
#include <string.h>

/* ---- What makes tokens of texts ---- */

/* Makes a text's tokens, at most `max`. `thread`: of the tokenizer, where there is one. Returns how many
 * there are without `max`. Errors: -ENOMEM. */
static int64_t encode(const struct prep *prep, struct tokenizer_thread *thread, const struct text_row *text,
		      int64_t *ret_tokens, uint64_t max)
{
	return thread ? tokenizer_encode(thread, text->text, text->bytes, ret_tokens, max)
		      : (int64_t)vocabulary_encode(prep->vocabulary, text->text, text->bytes, ret_tokens,
						   max);
}

static int open_thread(const struct prep *prep, struct tokenizer_thread **ret_thread, struct error *err)
{
	return prep->tokenizer ? tokenizer_open(prep->tokenizer, ret_thread, err) : 0;
}

static int load_tokenizer(struct prep *prep, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r = file_read(prep->tokenizer_name, TOKENIZER_FILE_MAX, &data, &bytes, err);

	if (r == 0)
		r = tokenizer_parse(data, bytes, &prep->tokenizer, err);
	return r < 0 ? error_prefix(err, "--tokenizer \"%s\"", prep->tokenizer_name) : 0;
}

static int fit(struct prep *prep, struct error *err)
{
	const uint32_t rows = prep->rows[TEXTS_TRAIN];
	CLEANUP(free_ptr) const char **text = calloc((size_t)rows + 1, sizeof(*text));
	CLEANUP(free_ptr) uint64_t *bytes = calloc((size_t)rows + 1, sizeof(*bytes));

	if (!text || !bytes)
		return error_set(err, -ENOMEM, "no memory for %u texts", rows);
	for (uint32_t i = 0; i < rows; i++) {
		text[i] = prep->texts.row[TEXTS_TRAIN][i].text;
		bytes[i] = prep->texts.row[TEXTS_TRAIN][i].bytes;
	}
	return vocabulary_fit(text, bytes, rows, (uint32_t)prep->vocabulary_max, (uint32_t)prep->ngrams,
			      &prep->vocabulary, err);
}

static void say(const struct prep *prep, uint64_t longest, uint32_t cut)
{
	fprintf(stderr, "%s: %u tokens; the longest text has %ju tokens\n",
		prep->tokenizer ? "tokenizer" : "vocabulary",
		prep->tokenizer ? tokenizer_size(prep->tokenizer) : vocabulary_size(prep->vocabulary),
		(uintmax_t)longest);
	if (cut)
		fprintf(stderr,
			"%u of %u texts have more than %ju tokens, %s: their further tokens are cut off\n",
			cut, prep->rows[TEXTS_TRAIN] + prep->rows[TEXTS_TEST], (uintmax_t)prep->tokens_max,
			prep->mode == PREP_APPEND ? "the values_max of the set" : "--tokens-max");
}

/* Finds the most tokens of a text, and says how many texts have more than are kept. */
static int count_tokens(struct prep *prep, struct error *err)
{
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = NULL;
	int64_t longest = 0;
	uint32_t cut = 0;

	if (open_thread(prep, &thread, err) < 0)
		return err->code;
	for (int s = 0; s < TEXTS_SPLITS; s++)
		for (uint32_t i = 0; i < prep->rows[s]; i++) {
			const int64_t tokens = encode(prep, thread, &prep->texts.row[s][i], NULL, 0);

			if (tokens < 0)
				return error_set(err, (int)tokens, "no memory for the tokens of a text");
			longest = tokens > longest ? tokens : longest;
			cut += (uint64_t)tokens > prep->tokens_max;
		}
	/* All sets have one schema, and so the same largest number. */
	prep->tokens_most = prep->mode == PREP_APPEND || (uint64_t)longest > prep->tokens_max
				    ? prep->tokens_max
				    : (uint64_t)longest;
	say(prep, (uint64_t)longest, cut);
	return 0;
}

static int make(struct prep *prep, struct error *err)
{
	int r = prep_order_texts(prep, err);

	/* Records that are added have the vocabulary of the set. */
	if (r < 0 || (!prep->vocabulary && (r = fit(prep, err)) < 0))
		return r;
	return count_tokens(prep, err);
}

static int make_ids(struct prep *prep, struct error *err)
{
	int r = prep_order_texts(prep, err);

	if (r < 0 || (!prep->tokenizer && (r = load_tokenizer(prep, err)) < 0))
		return r;
	if (prep->tokens_max <= tokenizer_specials(prep->tokenizer))
		return error_set(err, -EINVAL,
				 "%s %" PRIu64
				 ": the tokenizer gives each text %u special tokens, expected more",
				 prep->mode == PREP_APPEND ? "the values_max of the set" : "--tokens-max",
				 prep->tokens_max, tokenizer_specials(prep->tokenizer));
	return count_tokens(prep, err);
}

/* ---- Records ---- */

/* Sets the schema and the largest size of a record: a token needs at most 4 bytes there, because
 * VOCABULARY_MAX and TOKENIZER_IDS_MAX are below 2^28. */
static void schema(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes)
{
	*ret_schema = (struct example_schema){
		.features = 2,
		.feature = { { .name = "tokens",
			       .dtype = EXAMPLE_INT64,
			       .values_max = prep->tokens_most ? prep->tokens_most : 1 },
			     { .name = "label", .dtype = EXAMPLE_INT64, .elements = prep->classes } },
	};
	*ret_bytes = prep->tokens_most * 4 + prep->classes + 128;
}

/* A ragged row and its tokens. */
struct tokens {
	struct example_ragged ragged;
	int64_t count;
	int64_t token[];
};

/* A thread's memory: the label, and behind it a struct tokens. */
struct scratch {
	struct tokenizer_thread *thread;
	int64_t label[];
};

static uint64_t scratch_bytes(const struct prep *prep)
{
	return sizeof(struct scratch) + sizeof(struct tokens) +
	       (prep->tokens_most + prep->classes) * sizeof(int64_t);
}

static void scratch_done(void *memory)
{
	struct scratch *scratch = memory;

	tokenizer_closep(&scratch->thread);
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *memory,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct text_row *text = &prep->texts.row[split][row];
	struct scratch *scratch = memory;
	struct tokens *tokens = (struct tokens *)(scratch->label + prep->classes);
	int64_t count;

	if (!scratch->thread && open_thread(prep, &scratch->thread, err) < 0)
		return err->code;
	count = encode(prep, scratch->thread, text, tokens->token, prep->tokens_most);
	if (count < 0)
		return error_set(err, (int)count, "no memory for the tokens of a text");
	tokens->count = (uint64_t)count < prep->tokens_most ? count : (int64_t)prep->tokens_most;
	tokens->ragged = (struct example_ragged){ &tokens->count, tokens->token };
	ret_rows[0] = &tokens->ragged;
	ret_rows[1] = prep_one_hot(prep, text->label, scratch->label);
	return 0;
}

static const void *file(const struct prep *prep, uint64_t *ret_bytes)
{
	return prep->tokenizer ? tokenizer_file(prep->tokenizer, ret_bytes)
			       : vocabulary_file(prep->vocabulary, ret_bytes);
}

static void describe(const struct prep *prep, cJSON *json)
{
	cJSON *made = cJSON_AddObjectToObject(json, prep->tokenizer ? "tokenizer" : "vocabulary");
	char id[DIGEST_HEX_BYTES] = "";
	uint64_t bytes;
	const void *text = file(prep, &bytes);

	digest_sha256(text, bytes, id);
	cJSON_AddStringToObject(made, "key", prep->kind->file_key);
	json_add_u64(made, "size",
		     prep->tokenizer ? tokenizer_size(prep->tokenizer) : vocabulary_size(prep->vocabulary));
	cJSON_AddStringToObject(made, "id", id);
}

#define TOKEN_KIND(of, make_of, key)                                                                  \
	{                                                                                             \
		.what = (of), .feature = "tokens", .make = (make_of), .schema = schema,               \
		.scratch_bytes = scratch_bytes, .record = record, .scratch_done = scratch_done,       \
		.class_name = prep_label_name, .describe = describe, .file_key = (key), .file = file, \
	}
const struct prep_kind prep_tokens = TOKEN_KIND("tokens of texts (--tokens)", make, PREP_VOCABULARY_KEY);
const struct prep_kind prep_ids =
	TOKEN_KIND("ids of texts (--tokens --tokenizer)", make_ids, PREP_TOKENIZER_KEY);
