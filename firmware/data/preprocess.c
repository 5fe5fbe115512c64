/* SPDX-License-Identifier: Apache-2.0 */
#include "data/preprocess.h"

#include "core/base/mix.h"
#include "data/batch.h"
#include "data/text_hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No number: the value is the mask, which has no place in an encoding. */
#define MASKED INT64_MIN

/* A row with the table of its vocabulary: open addressing, a power of two of slots, at most half of them
 * used. */
struct row {
	const struct config_preprocess *how;
	uint32_t to;    /* index of the made feature */
	uint32_t *slot; /* index of a word, plus 1; 0: free; NULL: no vocabulary */
	uint64_t slots;
	bool skipped; /* nobody reads the made feature */
};

struct preprocess {
	uint32_t rows;
	struct row row[];
};

/* A value of an input. */
struct value {
	const uint8_t *text; /* NULL: a number */
	uint64_t bytes;
	int64_t whole;
	float number;
};

/* ---- Vocabularies ---- */

static struct value value_of(const struct config_token *token)
{
	return (struct value){ .text = (const uint8_t *)token->text,
			       .bytes = token->text ? strlen(token->text) : 0,
			       .whole = token->whole };
}

static bool equal(const struct value *a, const struct value *b)
{
	return a->text ? a->bytes == b->bytes && memcmp(a->text, b->text, a->bytes) == 0
		       : a->whole == b->whole;
}

/* Returns the slot of a value: its own, or the free one where it belongs. */
static uint32_t *slot_of(const struct row *row, const struct value *value)
{
	uint64_t at =
		value->text ? text_fingerprint(value->text, value->bytes) : mix64((uint64_t)value->whole);

	for (;; at++) {
		uint32_t *slot = &row->slot[at & (row->slots - 1)];
		struct value there;

		if (*slot == 0)
			return slot;
		there = value_of(&row->how->vocabulary[*slot - 1]);
		if (equal(&there, value))
			return slot;
	}
}

static int add_words(struct row *row, struct error *err)
{
	for (row->slots = 16; row->slots < (uint64_t)row->how->words * 2;)
		row->slots *= 2;
	row->slot = calloc(row->slots, sizeof(*row->slot));
	if (!row->slot)
		return error_set(err, -ENOMEM, "no memory for the vocabulary of \"%s\"", row->how->name);
	for (uint32_t i = 0; i < row->how->words; i++) {
		const struct value value = value_of(&row->how->vocabulary[i]);
		uint32_t *slot = slot_of(row, &value);

		if (*slot)
			return error_set(err, -EINVAL,
					 "preprocess.vocabulary: \"%s\": words %u and %u are the same, "
					 "allowed: each word once",
					 row->how->name, *slot - 1, i);
		*slot = i + 1;
	}
	return 0;
}

int preprocess_open(const struct config *config, struct preprocess **ret_preprocess, struct error *err)
{
	CLEANUP(preprocess_freep) struct preprocess *preprocess = NULL;

	*ret_preprocess = NULL;
	if (config->made == 0)
		return 0;
	preprocess = calloc(1, sizeof(*preprocess) + config->made * sizeof(preprocess->row[0]));
	if (!preprocess)
		return error_set(err, -ENOMEM, "no memory for %u rows of preprocess", config->made);
	for (uint32_t to = config->features - config->made; to < config->features; to++) {
		struct row *row = &preprocess->row[preprocess->rows++];
		int r = 0;

		*row = (struct row){ .how = config->feature[to].made_by, .to = to };
		if (row->how->words)
			r = add_words(row, err);
		if (r < 0)
			return r;
	}
	*ret_preprocess = TAKE(preprocess);
	return 0;
}

void preprocess_freep(struct preprocess **preprocess)
{
	for (uint32_t i = 0; *preprocess && i < (*preprocess)->rows; i++)
		free((*preprocess)->row[i].slot);
	free(TAKE(*preprocess));
}

void preprocess_skip(struct preprocess *preprocess, uint32_t feature)
{
	for (uint32_t i = 0; i < preprocess->rows; i++)
		if (preprocess->row[i].to == feature)
			preprocess->row[i].skipped = true;
}

/* ---- Numbers ---- */

static bool is_mask(const struct config_preprocess *how, const struct value *value)
{
	const struct value mask = value_of(&how->mask);

	return how->masked && equal(&mask, value);
}

/* Puts the value, or the digits of an integer, into one of `bins`, as Keras's Hashing does. */
static int64_t bin_of(const struct config_preprocess *how, const struct value *value, uint64_t bins)
{
	char digits[24];
	const void *text = value->text;
	uint64_t bytes = value->bytes, hash;

	if (!text) {
		bytes = (uint64_t)snprintf(digits, sizeof(digits), "%" PRId64, value->whole);
		text = digits;
	}
	hash = how->salted ? text_siphash(how->salt[0], how->salt[1], text, bytes)
			   : text_fingerprint(text, bytes);
	return (int64_t)(hash % bins);
}

static int refuse(const struct row *row, const struct value *value, const char *allowed, struct error *err)
{
	if (value->text)
		return error_set(err, -EBADMSG, "feature \"%s\": found \"%.*s\", allowed: %s", row->how->name,
				 (int)(value->bytes < 60 ? value->bytes : 60), (const char *)value->text,
				 allowed);
	return error_set(err, -EBADMSG, "feature \"%s\": found %" PRId64 ", allowed: %s", row->how->name,
			 value->whole, allowed);
}

/* Returns the number of a value that is not in the vocabulary. Where several numbers are for such values, the
 * hash of a text chooses one, or the remainder of an integer. */
static int64_t unknown(const struct config_preprocess *how, const struct value *value)
{
	const int64_t count = (int64_t)how->num_oov_indices, first = (int64_t)config_preprocess_first(how);
	int64_t rest;

	if (count == 1)
		return first;
	if (value->text)
		return first + (int64_t)(text_fingerprint(value->text, value->bytes) % (uint64_t)count);
	rest = value->whole % count;
	return first + (rest < 0 ? rest + count : rest);
}

static int look_up(const struct row *row, const struct value *value, int64_t *ret, struct error *err)
{
	const struct config_preprocess *how = row->how;
	uint32_t index;

	if (is_mask(how, value)) {
		*ret = how->output_mode == OUTPUT_INT ? 0 : MASKED;
		return 0;
	}
	index = *slot_of(row, value);
	if (index)
		*ret = (int64_t)(config_preprocess_first(how) + how->num_oov_indices + index - 1);
	else if (how->num_oov_indices)
		*ret = unknown(how, value);
	else
		return refuse(row, value, "a value of the vocabulary, as num_oov_indices is 0", err);
	return 0;
}

/* A NaN is in the last bin, as in TensorFlow. */
static int64_t boundaries_below(const struct config_numbers *boundaries, float number)
{
	uint32_t low = 0, high = boundaries->count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (number < (float)boundaries->at[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int number_of(const struct row *row, const struct value *value, int64_t *ret, struct error *err)
{
	const struct config_preprocess *how = row->how;
	char allowed[64];

	switch (how->op) {
	case PREPROCESS_HASHING:
		*ret = !how->masked          ? bin_of(how, value, how->num_bins)
		       : is_mask(how, value) ? 0
					     : 1 + bin_of(how, value, how->num_bins - 1);
		return 0;
	case PREPROCESS_DISCRETIZATION:
		*ret = boundaries_below(&how->bin_boundaries, value->number);
		return 0;
	case PREPROCESS_CATEGORY_ENCODING:
		*ret = value->whole;
		if (value->whole >= 0 && (uint64_t)value->whole < how->num_tokens)
			return 0;
		(void)snprintf(allowed, sizeof(allowed), "0 .. %" PRIu64 " (num_tokens)",
			       how->num_tokens - 1);
		return refuse(row, value, allowed, err);
	default:
		return look_up(row, value, ret, err);
	}
}

/* ---- Rows ---- */

/* Where a feature lies in a row of the batch. */
struct place {
	const struct example_feature *feature;
	uint8_t *values;
	int64_t *count; /* NULL: the feature is not ragged */
};

static struct place place_of(const struct batch_slot *batch, uint32_t feature, uint32_t row)
{
	return (struct place){ &batch->schema->feature[feature],
			       batch->values[feature] + row * batch->row_bytes[feature],
			       batch->splits[feature] ? &batch->splits[feature][row + 1] : NULL };
}

static struct value value_at(const struct place *from, uint64_t i)
{
	struct value value = { 0 };

	switch (from->feature->dtype) {
	case EXAMPLE_BYTES:
		value.text = example_bytes_at(from->feature, from->values, i, &value.bytes);
		break;
	case EXAMPLE_INT64:
		memcpy(&value.whole, from->values + i * sizeof(value.whole), sizeof(value.whole));
		value.number = (float)value.whole;
		break;
	default:
		memcpy(&value.number, from->values + i * sizeof(value.number), sizeof(value.number));
		break;
	}
	return value;
}

/* Counts a number in an encoding. One-hot: value i has places of its own. */
static void encode(const struct config_preprocess *how, float *out, uint64_t i, int64_t number)
{
	const uint64_t first = how->output_mode == OUTPUT_ONE_HOT ? i * config_preprocess_size(how) : 0;

	if (number == MASKED)
		return;
	if (how->output_mode == OUTPUT_COUNT)
		out[first + (uint64_t)number]++;
	else
		out[first + (uint64_t)number] = 1;
}

static int make(const struct row *row, const struct batch_slot *batch, uint32_t at, struct error *err)
{
	const struct place from = place_of(batch, row->how->from, at), to = place_of(batch, row->to, at);
	const bool encodes = row->how->output_mode != OUTPUT_INT;
	uint64_t count = from.feature->elements;

	if (row->skipped) { /* the input of a skipped row may be missing */
		memset(to.values, 0, batch->row_bytes[row->to]);
		if (to.count)
			*to.count = 0;
		return 0;
	}
	if (from.count) /* which a broken reader of the ring can write */
		count = (uint64_t)*from.count < from.feature->values_max ? (uint64_t)*from.count
									 : from.feature->values_max;
	if (encodes)
		memset(to.values, 0, batch->row_bytes[row->to]);
	for (uint64_t i = 0; i < count; i++) {
		const struct value value = value_at(&from, i);
		int64_t number = 0;
		int r = number_of(row, &value, &number, err);

		if (r < 0)
			return r;
		if (encodes)
			encode(row->how, (float *)(void *)to.values, i, number);
		else
			memcpy(to.values + i * sizeof(number), &number, sizeof(number));
	}
	if (to.count)
		*to.count = (int64_t)count;
	return 0;
}

int preprocess_row(const struct preprocess *preprocess, const struct batch_slot *batch, uint32_t row,
		   struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < preprocess->rows; i++)
		r = make(&preprocess->row[i], batch, row, err);
	return r;
}
