/* SPDX-License-Identifier: Apache-2.0 */
/* Records of tokens: the numbers of the words of a text (`tokens`, ragged int64), and the label, one-hot. */
#include "cli/prep/labelled.h"
#include "drivers/digest/digest.h"

#include <string.h>

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
	fprintf(stderr, "vocabulary: %u tokens; the longest text has %ju tokens\n",
		vocabulary_size(prep->vocabulary), (uintmax_t)longest);
	if (cut)
		fprintf(stderr,
			"%u of %u texts have more than %ju tokens, %s: their further tokens are cut off\n",
			cut, prep->rows[TEXTS_TRAIN] + prep->rows[TEXTS_TEST], (uintmax_t)prep->tokens_max,
			prep->mode == PREP_APPEND ? "the values_max of the set" : "--tokens-max");
}

static int make(struct prep *prep, struct error *err)
{
	uint64_t longest = 0;
	uint32_t cut = 0;
	int r = prep_order_texts(prep, err);

	/* Records that are added have the vocabulary of the set. */
	if (r < 0 || (!prep->vocabulary && (r = fit(prep, err)) < 0))
		return r;
	for (int s = 0; s < TEXTS_SPLITS; s++)
		for (uint32_t i = 0; i < prep->rows[s]; i++) {
			const struct text_row *text = &prep->texts.row[s][i];
			uint64_t tokens =
				vocabulary_encode(prep->vocabulary, text->text, text->bytes, NULL, 0);

			longest = tokens > longest ? tokens : longest;
			cut += tokens > prep->tokens_max;
		}
	/* All sets have one schema, and so the same largest number. */
	prep->tokens_most =
		prep->mode == PREP_APPEND || longest > prep->tokens_max ? prep->tokens_max : longest;
	say(prep, longest, cut);
	return 0;
}

/* Sets the schema and the largest size of a record: a token needs at most 4 bytes there, because
 * VOCABULARY_MAX < 2^28. */
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

/* A ragged row and its tokens. In the scratch memory they follow the label. */
struct tokens {
	struct example_ragged ragged;
	int64_t count;
	int64_t token[];
};

static uint64_t scratch_bytes(const struct prep *prep)
{
	return sizeof(struct tokens) + (prep->tokens_most + prep->classes) * sizeof(int64_t);
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct text_row *text = &prep->texts.row[split][row];
	struct tokens *tokens = (struct tokens *)((int64_t *)scratch + prep->classes);
	uint64_t count = vocabulary_encode(prep->vocabulary, text->text, text->bytes, tokens->token,
					   prep->tokens_most);

	(void)err;
	tokens->count = (int64_t)(count < prep->tokens_most ? count : prep->tokens_most);
	tokens->ragged = (struct example_ragged){ &tokens->count, tokens->token };
	ret_rows[0] = &tokens->ragged;
	ret_rows[1] = prep_one_hot(prep, text->label, scratch);
	return 0;
}

static void describe(const struct prep *prep, cJSON *json)
{
	cJSON *vocabulary = cJSON_AddObjectToObject(json, "vocabulary");
	char id[DIGEST_HEX_BYTES] = "";
	uint64_t bytes;
	const char *text = vocabulary_file(prep->vocabulary, &bytes);

	digest_sha256(text, bytes, id);
	cJSON_AddStringToObject(vocabulary, "key", PREP_VOCABULARY_KEY);
	json_add_u64(vocabulary, "size", vocabulary_size(prep->vocabulary));
	cJSON_AddStringToObject(vocabulary, "id", id);
}

static const void *file(const struct prep *prep, uint64_t *ret_bytes)
{
	return vocabulary_file(prep->vocabulary, ret_bytes);
}

const struct prep_kind prep_tokens = {
	.what = "tokens of texts (--tokens)",
	.feature = "tokens",
	.make = make,
	.schema = schema,
	.scratch_bytes = scratch_bytes,
	.record = record,
	.class_name = prep_label_name,
	.describe = describe,
	.file_key = PREP_VOCABULARY_KEY,
	.file = file,
};
