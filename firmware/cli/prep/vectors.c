/* SPDX-License-Identifier: Apache-2.0 */
/* Records of vectors: the vector of a text (`sentence`, float[dims]), and the label, one-hot. */
#include "cli/base/cache.h"
#include "cli/prep/encode_bert.h"
#include "cli/prep/labelled.h"
#include "cli/prep/parallel.h"
#include "core/base/paths.h"
#include "drivers/digest/digest.h"
#include "drivers/gpu/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Encodes texts in one call. */
typedef int encode_all(struct prep *prep, const struct encode_text *texts, uint32_t rows, float *vectors,
		       struct error *err);

static int by_program(struct prep *prep, const struct encode_text *texts, uint32_t rows, float *vectors,
		      struct error *err)
{
	return encode_exec(prep->encoder_name + strlen(ENCODE_EXEC), texts, rows, (uint32_t)prep->dims,
			   vectors, err);
}

static int by_bert(struct prep *prep, const struct encode_text *texts, uint32_t rows, float *vectors,
		   struct error *err)
{
	return bert_encoder_run(prep->bert, prep->gpu, texts, rows, vectors, err);
}

static int encode_splits(struct prep *prep, encode_all *encode, struct error *err)
{
	for (int s = 0; s < TEXTS_SPLITS; s++) {
		uint32_t rows = prep->texts.rows[s];
		CLEANUP(free_ptr) struct encode_text *texts = calloc((size_t)rows + 1, sizeof(*texts));
		int r;

		prep->vectors[s] = malloc(((uint64_t)rows * prep->dims + 1) * sizeof(float));
		if (!texts || !prep->vectors[s])
			return error_set(err, -ENOMEM, "no memory for %u vectors", rows);
		for (uint32_t i = 0; i < rows; i++)
			texts[i] = (struct encode_text){ prep->texts.row[s][i].text,
							 prep->texts.row[s][i].bytes };
		r = rows ? encode(prep, texts, rows, prep->vectors[s], err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Computes with the kernels that lie in the user's cache. Credentials of the output do not lie there. */
static int encode_on_device(struct prep *prep, struct error *err)
{
	const bool moves = getenv("KILN_ROOT") == NULL;
	int r;

	cache_find();
	r = gpu_open(&GPU_ANY, &prep->gpu, err);
	if (r == 0)
		r = encode_splits(prep, by_bert, err);
	gpu_close(prep->gpu);
	prep->gpu = NULL;
	if (moves)
		(void)unsetenv("KILN_ROOT");
	return r;
}

/* The encoder is open already where the records are added to a set. */
static int encode_by_bert(struct prep *prep, struct error *err)
{
	int r = prep->bert ? 0 : bert_encoder_open(prep->encoder_name, &prep->bert, err);

	if (r < 0)
		return r;
	if (prep->dims_given && prep->dims != bert_encoder_dims(prep->bert))
		return error_set(err, -EINVAL,
				 "encoder \"%s\": --dims: found %" PRIu64
				 ", allowed: hidden_size of its network, %u",
				 prep->encoder_name, prep->dims, bert_encoder_dims(prep->bert));
	prep->dims = bert_encoder_dims(prep->bert);
	return encode_on_device(prep, err);
}

static int load_encoder(struct prep *prep, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes;
	int r = file_read(prep->encoder_name, UINT32_MAX, &data, &bytes, err);

	if (r == 0)
		r = text_encoder_load(data, bytes, &prep->encoder, err);
	if (r < 0)
		return error_prefix(err, "encoder \"%s\"", prep->encoder_name);
	prep->dims = text_encoder_dims(prep->encoder);
	return 0;
}

static int fit(struct prep *prep, struct error *err)
{
	uint32_t rows = prep->texts.rows[TEXTS_TRAIN];
	CLEANUP(free_ptr) const char **text = calloc((size_t)rows + 1, sizeof(*text));
	CLEANUP(free_ptr) uint64_t *bytes = calloc((size_t)rows + 1, sizeof(*bytes));
	CLEANUP(free_ptr) uint32_t *label = calloc((size_t)rows + 1, sizeof(*label));
	const char *names[TEXTS_LABELS_MAX];
	struct text_corpus corpus = { rows, prep->texts.labels, text, bytes, label, names };
	struct text_fit_report report;
	int r;

	if (!text || !bytes || !label)
		return error_set(err, -ENOMEM, "no memory for %u texts", rows);
	for (uint32_t i = 0; i < rows; i++) {
		text[i] = prep->texts.row[TEXTS_TRAIN][i].text;
		bytes[i] = prep->texts.row[TEXTS_TRAIN][i].bytes;
		label[i] = prep->texts.row[TEXTS_TRAIN][i].label;
	}
	for (uint32_t c = 0; c < prep->texts.labels; c++)
		names[c] = prep->texts.label[c];
	fprintf(stderr, "fitting the encoder on %u texts of %u classes\n", rows, prep->texts.labels);
	r = text_fit(&corpus, (uint32_t)prep->dims, parallel_run, &prep->encoder, &prep->vectors[TEXTS_TRAIN],
		     &report, err);
	if (r == 0)
		fprintf(stderr,
			"fitted: %u features; cross-validation: %.2f %% of the training texts are classified "
			"correctly\n",
			report.features, 100 * report.fold_accuracy);
	return r;
}

static int make(struct prep *prep, struct error *err)
{
	int r = prep_order_texts(prep, err);

	if (r < 0)
		return r;
	if (strncmp(prep->encoder_name, ENCODE_EXEC, strlen(ENCODE_EXEC)) == 0)
		return encode_splits(prep, by_program, err);
	if (bert_encoder_is(prep->encoder_name))
		return encode_by_bert(prep, err);
	if (prep->encoder) /* that of the set which the records are added to */
		return 0;
	return strcmp(prep->encoder_name, "nblr") == 0 ? fit(prep, err) : load_encoder(prep, err);
}

/* ---- Records ---- */

/* Sets the schema and the largest size of a record: the floats, one byte for each class of the one-hot label,
 * and 128 bytes, which is more than names and lengths need. */
static void schema(const struct prep *prep, struct example_schema *ret_schema, uint64_t *ret_bytes)
{
	*ret_schema = (struct example_schema){
		.features = 2,
		.feature = { { .name = "sentence", .dtype = EXAMPLE_FLOAT32, .elements = prep->dims },
			     { .name = "label", .dtype = EXAMPLE_INT64, .elements = prep->classes } },
	};
	*ret_bytes = prep->dims * sizeof(float) + prep->classes + 128;
}

static uint64_t scratch_bytes(const struct prep *prep)
{
	return prep->classes * sizeof(int64_t) + prep->dims * sizeof(float);
}

static int record(const struct prep *prep, enum texts_split split, uint32_t row, void *scratch,
		  const void *ret_rows[static PREP_COLUMNS_MAX], struct error *err)
{
	const struct text_row *text = &prep->texts.row[split][row];
	float *vector = (float *)((int64_t *)scratch + prep->classes);

	ret_rows[0] = vector;
	ret_rows[1] = prep_one_hot(prep, text->label, scratch);
	if (!prep->vectors[split])
		return text_encode(prep->encoder, text->text, text->bytes, vector, err);
	ret_rows[0] = prep->vectors[split] + (uint64_t)row * prep->dims;
	return 0;
}

static void describe(const struct prep *prep, cJSON *json)
{
	cJSON *encoder = cJSON_AddObjectToObject(json, "encoder");
	char id[DIGEST_HEX_BYTES] = "";

	if (prep->encoder) {
		uint64_t bytes;
		const void *data = text_encoder_bytes(prep->encoder, &bytes);

		digest_sha256(data, bytes, id);
		cJSON_AddStringToObject(encoder, "key", PREP_ENCODER_KEY);
	} else if (prep->bert) {
		bert_encoder_describe(prep->bert, encoder);
		return;
	} else {
		digest_sha256(prep->encoder_name, strlen(prep->encoder_name), id);
		cJSON_AddItemToObject(encoder, "program", json_string(prep->encoder_name));
	}
	cJSON_AddStringToObject(encoder, "id", id);
}

static const void *file(const struct prep *prep, uint64_t *ret_bytes)
{
	return prep->encoder ? text_encoder_bytes(prep->encoder, ret_bytes) : NULL;
}

const struct prep_kind prep_vectors = {
	.what = "vectors of texts (without --tokens)",
	.feature = "sentence",
	.make = make,
	.schema = schema,
	.scratch_bytes = scratch_bytes,
	.record = record,
	.class_name = prep_label_name,
	.describe = describe,
	.file_key = PREP_ENCODER_KEY,
	.file = file,
};
