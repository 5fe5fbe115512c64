/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/encode.h"
#include "cli/trained.h"
#include "core/json.h"
#include "data/text.h"
#include "data/vocabulary.h"
#include "model/model.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#define ENCODER_MAX UINT32_MAX
#define DATASET_MAX (4u << 20)
#define VOCABULARY  "vocabulary.txt"

static const char usage[] =
	"Usage: kiln predict MODEL [TEXT...] [OPTION...]\n\n"
	"What a trained network makes of texts: label, probability, text. Without TEXT, lines come from\n"
	"standard input. MODEL is a run's model folder or the model.safetensors in it: a path, or below\n"
	"s3:// or file:///.\n\n"
	"  --encoder E            what turned texts into vectors: a path, an object, or exec:PROGRAM;\n"
	"                         without it encoder.bin beside the model; a network of tokens\n"
	"                         takes vocabulary.txt there\n" TRAINED_USAGE
	"  --json                 one JSON object a line, with the probability of every label; bytes of a\n"
	"                         text that are not UTF-8 become U+FFFD\n";

struct predict {
	struct trained trained;
	const char *encoder_name;
	bool takes_tokens;

	struct text_encoder *encoder;  /* NULL with exec: or vocabulary */
	struct vocabulary *vocabulary; /* not NULL: texts become tokens */
	cJSON *dataset;                /* NULL: none beside the model */
	uint32_t rows, room;
	struct encode_text *text; /* owned */
	uint64_t dims, classes;   /* dims: of a vector, or the most tokens of a text */
};

/* ---- The model ---- */

/* A vector, or ragged tokens: their values, then their splits. */
static int find_input(struct predict *predict, struct error *err)
{
	struct model_input input[MODEL_INPUTS_MAX];
	const uint32_t inputs = model_inputs(predict->trained.model, input);
	const uint64_t rows = predict->trained.config.run.batch_rows;

	predict->takes_tokens = inputs == 2 && input[0].dtype == CONFIG_INT64 && !input[0].row_bytes;
	if (predict->takes_tokens)
		predict->dims = input[0].bytes / sizeof(int64_t) / rows;
	else if (inputs == 1 && input[0].dtype == CONFIG_FLOAT32)
		predict->dims = input[0].row_bytes / sizeof(float);
	else
		return error_set(
			err, -EINVAL,
			"%s: the network takes other than one vector of float32 a text, or its tokens",
			predict->trained.name);
	if (predict->takes_tokens && predict->encoder_name)
		return error_set(err, -EINVAL, "%s: the network takes tokens, allowed: no --encoder",
				 predict->trained.name);
	return 0;
}

static int load_model(struct predict *predict, struct error *err)
{
	struct trained *trained = &predict->trained;
	int r = trained_load(trained, err);

	if (r < 0)
		return r;
	r = trained_open_model(trained, false, err);
	if (r < 0)
		return r;
	if ((r = find_input(predict, err)) < 0)
		return r;
	predict->classes = model_classes(predict->trained.model);
	return 0;
}

/* ---- The encoder ---- */

static bool is_program(const struct predict *predict)
{
	return predict->encoder_name && strncmp(predict->encoder_name, ENCODE_EXEC, strlen(ENCODE_EXEC)) == 0;
}

/* dataset.json beside the model; a model may be without. */
static int load_dataset(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(predict->trained.folder, "dataset.json", DATASET_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : json_parse("dataset.json", text, bytes, &predict->dataset, err);
}

/* Programs run only when the command line names them, never because a file does. */
static int check_program(const struct predict *predict, struct error *err)
{
	const cJSON *encoder = cJSON_GetObjectItemCaseSensitive(predict->dataset, "encoder");
	const char *program;

	if (json_get_string("dataset.json", encoder, "program", &program, err) < 0)
		return 0;
	return error_set(err, -EINVAL,
			 "%s: its texts were encoded by a program; if you trust it, add --encoder '%.200s'",
			 predict->trained.name, program);
}

static int read_encoder(struct predict *predict, char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	const char *key;
	int r;

	if (!predict->encoder_name) {
		r = check_program(predict, err);
		return r < 0 ? r
			     : store_get_all(predict->trained.folder, "encoder.bin", ENCODER_MAX, ret_data,
					     ret_bytes, err);
	}
	r = trained_open_place(&predict->trained, predict->encoder_name, &store, &key, err);
	return r < 0 ? r : store_get_all(store, key, ENCODER_MAX, ret_data, ret_bytes, err);
}

static int load_vocabulary(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r = store_get_all(predict->trained.folder, VOCABULARY, ENCODER_MAX, &data, &bytes, err);

	if (r == 0)
		r = vocabulary_parse(data, bytes, &predict->vocabulary, err);
	return r < 0 ? error_prefix(err, VOCABULARY) : 0;
}

static int load_encoder(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	uint64_t bytes = 0;
	int r = load_dataset(predict, err);

	if (r == 0 && predict->takes_tokens)
		return load_vocabulary(predict, err);
	if (r < 0 || is_program(predict))
		return r;
	r = read_encoder(predict, &data, &bytes, err);
	if (r == 0)
		r = text_encoder_load(data, bytes, &predict->encoder, err);
	if (r < 0)
		return error_prefix(err, "encoder");
	if (text_encoder_dims(predict->encoder) != predict->dims)
		return error_set(err, -EINVAL,
				 "the encoder gives %u numbers a text, the network takes %" PRIu64,
				 text_encoder_dims(predict->encoder), predict->dims);
	return 0;
}

static int encode(const struct predict *predict, float *vectors, struct error *err)
{
	int r = 0;

	if (is_program(predict))
		return encode_exec(predict->encoder_name + strlen(ENCODE_EXEC), predict->text, predict->rows,
				   (uint32_t)predict->dims, vectors, err);
	for (uint32_t i = 0; r == 0 && i < predict->rows; i++)
		r = text_encode(predict->encoder, predict->text[i].text, predict->text[i].bytes,
				vectors + i * predict->dims, err);
	return r;
}

/* ---- Texts in, answers out ---- */

static int add_text(struct predict *predict, const char *text, size_t bytes, struct error *err)
{
	char *copy = strndup(text, bytes);

	if (predict->rows == predict->room) {
		uint32_t room = predict->room ? 2 * predict->room : 64;
		void *grown = realloc(predict->text, room * sizeof(*predict->text));

		if (grown) {
			predict->text = grown;
			predict->room = room;
		}
	}
	if (!copy || predict->rows == predict->room) {
		free(copy);
		return error_set(err, -ENOMEM, "no memory for %u texts", predict->rows);
	}
	predict->text[predict->rows++] = (struct encode_text){ copy, strlen(copy) };
	return 0;
}

static int read_lines(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int r = 0;

	while (r == 0 && (bytes = getline(&line, &room, stdin)) >= 0)
		r = add_text(predict, line, (size_t)bytes - (line[bytes - 1] == '\n'), err);
	return r;
}

/* The label's name: the encoder's, dataset.json's, or its number; the two of film reviews in full. */
static const char *label_name(const struct predict *predict, uint64_t label, char number[static 24])
{
	const cJSON *classes = cJSON_GetObjectItemCaseSensitive(predict->dataset, "classes"),
		    *class = cJSON_GetArrayItem(classes, (int)label);
	const char *name = cJSON_IsString(class) ? class->valuestring : NULL;

	if (!name && predict->encoder && label < text_encoder_classes(predict->encoder))
		name = text_encoder_class(predict->encoder, (uint32_t)label);
	if (name && predict->classes == 2 && strcmp(name, "neg") == 0)
		return "negative";
	if (name && predict->classes == 2 && strcmp(name, "pos") == 0)
		return "positive";
	if (name)
		return name;
	(void)snprintf(number, 24, "%" PRIu64, label);
	return number;
}

static void print_json(const struct predict *predict, const char *text, const float *probability,
		       uint64_t best)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *line = NULL;
	cJSON *all;
	char number[24];

	cJSON_AddItemToObject(object, "text", json_string(text));
	cJSON_AddStringToObject(object, "label", label_name(predict, best, number));
	cJSON_AddNumberToObject(object, "probability", (double)probability[best]);
	all = cJSON_AddObjectToObject(object, "probabilities");
	for (uint64_t i = 0; i < predict->classes; i++)
		cJSON_AddNumberToObject(all, label_name(predict, i, number), (double)probability[i]);
	line = cJSON_PrintUnformatted(object);
	puts(line ? line : "{}");
}

static void print_answer(const struct predict *predict, uint32_t row, const float *probability)
{
	const char *text = predict->text[row].text;
	uint64_t best = 0;
	char number[24];

	for (uint64_t i = 1; i < predict->classes; i++)
		if (probability[i] > probability[best])
			best = i;
	if (predict->trained.json)
		print_json(predict, text, probability, best);
	else
		printf("%-12s %.4f  %s\n", label_name(predict, best, number), (double)probability[best],
		       text);
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

/* Texts `first` .. `first + rows` as a batch has them; what is beyond the most tokens is cut off, as prep
 * does. */
static void fill_tokens(const struct predict *predict, uint32_t first, uint32_t rows, int64_t *tokens,
			int64_t *splits)
{
	for (uint32_t i = 0; i < rows; i++) {
		const struct encode_text *text = &predict->text[first + i];
		const uint64_t count = vocabulary_encode(predict->vocabulary, text->text, text->bytes,
							 tokens + splits[i], predict->dims);

		splits[i + 1] = splits[i] + (int64_t)(count < predict->dims ? count : predict->dims);
	}
}

static int predict_tokens(const struct predict *predict, float *probabilities, struct error *err)
{
	const uint32_t most = (uint32_t)predict->trained.config.run.batch_rows;
	CLEANUP(free_ptr) int64_t *tokens = calloc(most, predict->dims * sizeof(*tokens));
	CLEANUP(free_ptr) int64_t *splits = calloc(most + 1u, sizeof(*splits));
	int r = 0;

	if (!tokens || !splits)
		return error_set(err, -ENOMEM, "no memory for %u texts of %" PRIu64 " tokens", most,
				 predict->dims);
	for (uint32_t first = 0; r == 0 && first < predict->rows; first += most) {
		const uint32_t rows = predict->rows - first < most ? predict->rows - first : most;

		fill_tokens(predict, first, rows, tokens, splits);
		r = model_predict(predict->trained.model, (const void *const[]){ tokens, splits }, rows,
				  probabilities + first * predict->classes, err);
	}
	return r;
}

static int answer(const struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr)
	float *probabilities = calloc(predict->rows + 1u, predict->classes * sizeof(*probabilities));
	int r;

	if (!probabilities)
		return error_set(err, -ENOMEM, "no memory for %u texts", predict->rows);
	if (predict->rows == 0)
		return 0;
	r = predict->vocabulary ? predict_tokens(predict, probabilities, err)
				: predict_vectors(predict, probabilities, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < predict->rows; i++)
		print_answer(predict, i, probabilities + i * predict->classes);
	return 0;
}

/* ---- The verb ---- */

enum option_code { OPT_ENCODER = 256 };

static const struct option options[] = { { "encoder", 1, NULL, OPT_ENCODER }, TRAINED_OPTIONS };

static int take(void *context, int code, const char *value)
{
	struct predict *predict = context;

	(void)code;
	predict->encoder_name = value;
	return CLI_OK;
}

static int run(struct predict *predict, int texts, char **text, struct error *err)
{
	int r;

	if ((r = load_model(predict, err)) < 0 || (r = load_encoder(predict, err)) < 0)
		return r;
	for (int i = 0; r == 0 && i < texts; i++)
		r = add_text(predict, text[i], strlen(text[i]), err);
	if (r == 0 && texts == 0)
		r = read_lines(predict, err);
	return r < 0 ? r : answer(predict, err);
}

static void done(struct predict *predict)
{
	for (uint32_t i = 0; i < predict->rows; i++)
		free((char *)(uintptr_t)predict->text[i].text);
	free(predict->text);
	text_encoder_free(predict->encoder);
	vocabulary_free(predict->vocabulary);
	cJSON_Delete(predict->dataset);
	trained_done(&predict->trained);
}

int cli_predict(int argc, char **argv)
{
	CLEANUP(done)
	struct predict predict = { .trained = TRAINED_EMPTY };
	const struct trained_verb verb = { .name = "predict",
					   .usage = usage,
					   .options = options,
					   .more = true,
					   .take = take,
					   .context = &predict };
	struct error err = { 0 };
	bool finished = false;
	int code = trained_parse(&predict.trained, &verb, argc, argv, &finished);

	if (code || finished)
		return code;
	return run(&predict, argc - optind, argv + optind, &err) < 0 ? cli_error(&err) : CLI_OK;
}
