/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/predict.h"

#include "cli/base/say.h"
#include "core/run/dataset.h"
#include "trained/location.h"
#include "trained/set_tokenizer.h"
#include "trained/whole.h"

#include <inttypes.h>
#include <string.h>

#define ENCODER_MAX UINT32_MAX
#define VOCABULARY  "vocabulary.txt"
#define TOKENIZER   "tokenizer.json"

/* ---- What makes numbers of texts ---- */

/* Whether the only input is an int64 feature with padding, which then is predict->padded. */
static bool reads_padded(struct predict *predict, const struct model_input *input)
{
	const struct config_feature *feature =
		config_feature_named(&predict->trained.saved.config, input->name);

	if (input->dtype != CONFIG_INT64 || !feature || feature->padding == PADDING_NONE)
		return false;
	predict->padded = (struct example_feature){ .name = feature->name,
						    .dtype = EXAMPLE_INT64,
						    .elements = feature->shape[0],
						    .fill = feature->fill,
						    .padding = (uint32_t)feature->padding };
	return true;
}

/* Decides whether the network reads vectors or tokens: vectors where its only input is float32; tokens where
 * its inputs are the values and splits of a ragged int64 feature, or an int64 feature with padding. */
static int find_input(struct predict *predict, struct error *err)
{
	struct model_input input[MODEL_INPUTS_MAX];
	const uint32_t inputs = model_inputs(predict->trained.model, input);
	const uint64_t rows = predict->trained.saved.config.run.batch_rows;

	predict->reads_tokens = inputs == 2 && input[0].dtype == CONFIG_INT64 && !input[0].row_bytes;
	if (predict->reads_tokens)
		predict->dims = input[0].bytes / sizeof(int64_t) / rows;
	else if (inputs == 1 && reads_padded(predict, &input[0]))
		predict->dims = predict->padded.elements;
	else if (inputs == 1 && input[0].dtype == CONFIG_FLOAT32)
		predict->dims = input[0].row_bytes / sizeof(float);
	else
		return error_set(err, -EINVAL,
				 "%s: the network does not read texts: its input is neither one float32 "
				 "vector nor tokens",
				 predict->trained.name);
	predict->reads_tokens = predict->reads_tokens || predict->padded.name;
	if (predict->reads_tokens && predict->encoder_name)
		return error_set(err, -EINVAL,
				 "%s: found --encoder, but the network reads tokens and needs no encoder",
				 predict->trained.name);
	return 0;
}

static bool is_program(const struct predict *predict)
{
	return predict->encoder_name && strncmp(predict->encoder_name, ENCODE_EXEC, strlen(ENCODE_EXEC)) == 0;
}

/* Refuses to run the program that dataset.json names. A program runs only where the user names it on the
 * command line, because dataset.json may come from somebody else. */
static int check_program(const struct predict *predict, struct error *err)
{
	const cJSON *encoder = cJSON_GetObjectItemCaseSensitive(predict->dataset, "encoder");
	const char *program;

	if (json_get_string(DATASET_NAME, encoder, "program", &program, err) < 0)
		return 0;
	return error_set(err, -EINVAL,
			 "%s: the texts were encoded by a program; if you trust it, add --encoder '%.200s'",
			 predict->trained.name, program);
}

/* Checks --encoder where a BERT made the vectors, or is to make them: it has to be the same one. Opens it. */
static int open_bert(struct predict *predict, struct error *err)
{
	const char *of_set = bert_encoder_of(predict->dataset);
	int r;

	if (of_set && !bert_encoder_is(predict->encoder_name))
		return error_set(
			err, -EINVAL,
			"%s: the texts were encoded by the BERT %.200s: give its folder, with --encoder "
			"bert:DIR",
			predict->trained.name, of_set);
	if (!bert_encoder_is(predict->encoder_name))
		return 0;
	if ((r = bert_encoder_open(predict->encoder_name, &predict->bert, err)) < 0)
		return r;
	if (!json_member(predict->dataset, "encoder"))
		fprintf(stderr,
			"%s: found no encoder in " DATASET_NAME
			" beside it: whether %s made its vectors cannot be checked\n",
			predict->trained.name, predict->encoder_name);
	else if ((r = bert_encoder_check(predict->bert, predict->dataset, err)) < 0)
		return error_prefix(err, "%s", predict->trained.name);
	if (bert_encoder_dims(predict->bert) != predict->dims)
		return error_set(err, -EINVAL,
				 "the encoder gives %u numbers for each text, the network reads %" PRIu64,
				 bert_encoder_dims(predict->bert), predict->dims);
	return 0;
}

static int read_encoder(struct predict *predict, char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const char *key;
	int r;

	if (!predict->encoder_name) {
		r = check_program(predict, err);
		if (r == 0)
			r = whole_get(predict->trained.folder, "encoder.bin", ENCODER_MAX, ret_data,
				      ret_bytes, err);
		if (r == -ENOENT)
			return error_set(err, r,
					 "%s: found no encoder.bin beside it, which texts need; allowed: "
					 "--encoder, --split, --data, or standard input with one JSON object "
					 "per line: {\"FEATURE\": VALUES, ...}",
					 predict->trained.name);
		return r;
	}
	r = location_open(&predict->trained.where, predict->encoder_name, &store, &key, err);
	return r < 0 ? r : whole_get(store, key, ENCODER_MAX, ret_data, ret_bytes, err);
}

/* Loads the tokenizer that lies beside the model: the one whose digest dataset.json has. */
static int load_tokenizer(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r = whole_get(predict->trained.folder, TOKENIZER, TOKENIZER_FILE_MAX, &data, &bytes, err);

	if (r < 0)
		return r;
	r = set_tokenizer_parse(predict->dataset, data, bytes, &predict->tokenizer, err);
	return r < 0 ? error_prefix(err, TOKENIZER) : 0;
}

static int load_vocabulary(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r = whole_get(predict->trained.folder, VOCABULARY, VOCABULARY_FILE_MAX, &data, &bytes, err);

	if (r == 0)
		r = vocabulary_parse(data, bytes, &predict->vocabulary, err);
	return r < 0 ? error_prefix(err, VOCABULARY) : 0;
}

int predict_open_texts(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r = find_input(predict, err);

	if (r == 0 && predict->reads_tokens)
		return json_member(predict->dataset, "tokenizer") ? load_tokenizer(predict, err)
								  : load_vocabulary(predict, err);
	if (r == 0)
		r = open_bert(predict, err);
	if (r < 0 || is_program(predict) || predict->bert)
		return r;
	r = read_encoder(predict, &data, &bytes, err);
	if (r == 0)
		r = text_encoder_load(data, bytes, &predict->encoder, err);
	if (r < 0)
		return error_prefix(err, "encoder");
	if (text_encoder_dims(predict->encoder) != predict->dims)
		return error_set(err, -EINVAL,
				 "the encoder gives %u numbers for each text, the network reads %" PRIu64,
				 text_encoder_dims(predict->encoder), predict->dims);
	predict->answers.encoder = predict->encoder;
	return 0;
}

static int encode(const struct predict *predict, float *vectors, struct error *err)
{
	int r = 0;

	if (is_program(predict))
		return encode_exec(predict->encoder_name + strlen(ENCODE_EXEC), predict->text, predict->rows,
				   (uint32_t)predict->dims, vectors, err);
	if (predict->bert)
		return bert_encoder_run(predict->bert, predict->trained.gpu, predict->text, predict->rows,
					vectors, err);
	for (uint32_t i = 0; r == 0 && i < predict->rows; i++)
		r = text_encode(predict->encoder, predict->text[i].text, predict->text[i].bytes,
				vectors + i * predict->dims, err);
	return r;
}

/* ---- Texts in, answers out ---- */

int predict_add_text(struct predict *predict, const char *text, size_t bytes, struct error *err)
{
	char *copy = strndup(text, bytes);

	if (predict->rows == predict->capacity) {
		uint32_t capacity = predict->capacity ? 2 * predict->capacity : 64;
		void *grown = realloc(predict->text, capacity * sizeof(*predict->text));

		if (grown) {
			predict->text = grown;
			predict->capacity = capacity;
		}
	}
	if (!copy || predict->rows == predict->capacity) {
		free(copy);
		return error_set(err, -ENOMEM, "no memory for %u texts", predict->rows);
	}
	predict->text[predict->rows++] = (struct encode_text){ copy, strlen(copy) };
	return 0;
}

static int print_text(const struct predict *predict, uint32_t row, const float *output, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const char *text = predict->text[row].text;
	int r;

	if (!predict->json) {
		r = answer_print(&predict->answers, output, text, err);
		return r < 0 ? error_prefix(err, "text %u", row + 1) : 0;
	}
	object = cJSON_CreateObject();
	cJSON_AddItemToObject(object, "text", json_string(text));
	r = answer_json(&predict->answers, output, object, err);
	if (r < 0)
		return error_prefix(err, "text %u", row + 1);
	(void)cli_print_json_line(object);
	return 0;
}

static int predict_vectors(const struct predict *predict, float *probabilities, struct error *err)
{
	CLEANUP(free_ptr) float *vectors = calloc(predict->rows + 1u, predict->dims * sizeof(*vectors));
	int r;

	if (!vectors)
		return error_set(err, -ENOMEM, "no memory for %u texts", predict->rows);
	r = encode(predict, vectors, err);
	return r < 0 ? r
		     : model_predict(predict->trained.model, (const void *const[]){ vectors }, predict->rows,
				     probabilities, err);
}

/* Writes the tokens of texts `first` .. `first + rows - 1` as values and splits of a ragged feature, or
 * padded to `dims` tokens each. Further tokens of a text are cut off, whatever `overflow`
 * says. `thread`: of the tokenizer, where there is one. */
static int fill_tokens(const struct predict *predict, struct tokenizer_thread *thread, uint32_t first,
		       uint32_t rows, int64_t *tokens, int64_t *splits, struct error *err)
{
	for (uint32_t i = 0; i < rows; i++) {
		const struct encode_text *text = &predict->text[first + i];
		int64_t *at = tokens + splits[i];
		int64_t count = thread ? tokenizer_encode(thread, text->text, text->bytes, at, predict->dims)
				       : (int64_t)vocabulary_encode(predict->vocabulary, text->text,
								    text->bytes, at, predict->dims);

		if (count < 0)
			return error_set(err, (int)count, "no memory for the tokens of text %u",
					 first + i + 1);
		if ((uint64_t)count > predict->dims)
			count = (int64_t)predict->dims;
		if (predict->padded.name)
			example_pad(&predict->padded, at, (uint64_t)count);
		splits[i + 1] = splits[i] + (predict->padded.name ? (int64_t)predict->dims : count);
	}
	return 0;
}

static int predict_tokens(const struct predict *predict, float *probabilities, struct error *err)
{
	const uint32_t most = (uint32_t)predict->trained.saved.config.run.batch_rows;
	CLEANUP(free_ptr) int64_t *tokens = calloc(most, predict->dims * sizeof(*tokens));
	CLEANUP(free_ptr) int64_t *splits = calloc(most + 1u, sizeof(*splits));
	CLEANUP(tokenizer_closep) struct tokenizer_thread *thread = NULL;
	int r = 0;

	if (!tokens || !splits)
		return error_set(err, -ENOMEM, "no memory for %u texts of %" PRIu64 " tokens", most,
				 predict->dims);
	if (predict->tokenizer)
		r = tokenizer_open(predict->tokenizer, &thread, err);
	for (uint32_t first = 0; r == 0 && first < predict->rows; first += most) {
		const uint32_t rows = predict->rows - first < most ? predict->rows - first : most;

		r = fill_tokens(predict, thread, first, rows, tokens, splits, err);
		if (r < 0)
			return r;
		r = model_predict(predict->trained.model, (const void *const[]){ tokens, splits }, rows,
				  probabilities + first * predict->answers.outputs, err);
	}
	return r;
}

int predict_texts(const struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr)
	float *probabilities = calloc(predict->rows + 1u, predict->answers.outputs * sizeof(*probabilities));
	int r;

	if (!probabilities)
		return error_set(err, -ENOMEM, "no memory for %u texts", predict->rows);
	if (predict->rows == 0)
		return 0;
	r = predict->reads_tokens ? predict_tokens(predict, probabilities, err)
				  : predict_vectors(predict, probabilities, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < predict->rows; i++)
		r = print_text(predict, i, probabilities + i * predict->answers.outputs, err);
	return r;
}

void predict_texts_done(struct predict *predict)
{
	for (uint32_t i = 0; i < predict->rows; i++)
		free((char *)(uintptr_t)predict->text[i].text);
	free(predict->text);
	text_encoder_free(predict->encoder);
	bert_encoder_closep(&predict->bert);
	vocabulary_free(predict->vocabulary);
	tokenizer_free(predict->tokenizer);
}
