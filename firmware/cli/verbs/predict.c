/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/predict.h"

#include "cli/base/say.h"
#include "cli/trained/features.h"
#include "cli/verbs/verbs.h"

#include <inttypes.h>
#include <string.h>

#define DATASET_MAX (4u << 20)

static const char usage[] =
	"Usage: kiln predict MODEL [TEXT...] [OPTION...]\n"
	"       kiln predict MODEL --split NAME | --data URL [OPTION...]\n\n"
	"What a trained network makes of texts, of records or of other values. MODEL is a run's model folder "
	"or\n"
	"the model.safetensors in it: a path, or below s3:// or file:///.\n\n"
	"Without TEXT, --split and --data, standard input has a text a line, or, if its first byte is {, a "
	"JSON\n"
	"object a line: {\"text\": ...}, or values by the features' names, {\"image\": [...]}; what the "
	"schema has\n"
	"and the network does not read may be there. Of texts it prints label, probability and text; else, "
	"and\n"
	"with --json, a JSON object a line: line, or shard and record; class, label, probability and that of "
	"each\n"
	"label; of a regression value, or values.\n\n"
	"  --encoder E            what turned texts into vectors: a path, an object, or exec:PROGRAM;\n"
	"                         without it encoder.bin beside the model; a network of tokens\n"
	"                         takes vocabulary.txt there\n" RECORDS_USAGE TRAINED_USAGE
	"  --json                 of texts, too; bytes of a text that are not UTF-8 become U+FFFD\n";

/* ---- The model ---- */

static int load_model(struct predict *predict, struct error *err)
{
	struct trained *trained = &predict->trained;
	int r = trained_load(trained, err);

	if (r < 0)
		return r;
	r = trained_open_model(trained, false, err);
	if (r < 0)
		return r;
	predict->answers = answers_of(&trained->config, model_classes(trained->model));
	return 0;
}

/* dataset.json beside the model; a model may be without. */
static int load_dataset(struct predict *predict, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(predict->trained.folder, "dataset.json", DATASET_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = json_parse("dataset.json", text, bytes, &predict->dataset, err);
	predict->answers.dataset = predict->dataset;
	return r;
}

/* ---- Standard input ---- */

/* The text of {"text": "..."}. */
static int add_object_text(struct predict *predict, const struct lines *lines, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	const char *text = NULL;
	char name[64];
	int r = lines_object(lines, &object, err);

	(void)snprintf(name, sizeof(name), "line %" PRIu64, lines->number);
	if (r == 0)
		r = json_get_string(name, object, "text", &text, err);
	return r < 0 ? r : predict_add_text(predict, text, strlen(text), err);
}

static int read_texts(struct predict *predict, struct lines *lines, bool objects, struct error *err)
{
	int r = 0;

	while (r == 0 && lines_next(lines))
		r = objects ? add_object_text(predict, lines, err)
			    : predict_add_text(predict, lines->text, lines->bytes, err);
	predict->trained.json = predict->trained.json || objects;
	return r;
}

/* ---- Records in, a batch at a time ---- */

static int print_row(const struct predict *predict, const float *output, struct records_place from,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *line = NULL;
	int r;

	if (from.key)
		cJSON_AddItemToObject(object, "shard", json_string(from.key));
	json_add_u64(object, from.key ? "record" : "line", from.record);
	r = answer_json(&predict->answers, output, object, err);
	if (r < 0)
		return records_blame(from, err);
	line = cJSON_PrintUnformatted(object);
	puts(line ? line : "{}");
	return 0;
}

/* Names the batch that the error is about. */
static int blame_batch(const struct records *records, uint32_t rows, struct error *err)
{
	const struct records_place first = records_place(records, 0), last = records_place(records, rows - 1);

	return first.key ? error_prefix(err, "%s: record %" PRIu64 " .. %s: record %" PRIu64, first.key,
					first.record, last.key, last.record)
			 : error_prefix(err, "lines %" PRIu64 " .. %" PRIu64, first.record, last.record);
}

static int predict_records(struct predict *predict, struct error *err)
{
	CLEANUP(records_closep) struct records *records = NULL;
	CLEANUP(free_ptr) float *output = NULL;
	struct trained *trained = &predict->trained;
	struct model_batch batch;
	int r = records_open(trained, &predict->source, trained->model, &records, err);

	if (r < 0)
		return r;
	output = calloc(trained->config.run.batch_rows, predict->answers.outputs * sizeof(float));
	if (!output)
		return error_set(err, -ENOMEM, "no memory for a batch's output");
	while (r == 0 && (r = records_next(records, &batch, err)) > 0) {
		r = model_predict(trained->model, batch.input, batch.rows, output, err);
		if (r < 0)
			return blame_batch(records, batch.rows, err);
		for (uint32_t i = 0; r == 0 && i < batch.rows; i++)
			r = print_row(predict, output + i * predict->answers.outputs,
				      records_place(records, i), err);
	}
	return r;
}

/* ---- The verb ---- */

enum option_code { OPT_ENCODER = 256 };

static const struct option options[] = { { "encoder", 1, NULL, OPT_ENCODER },
					 RECORDS_OPTIONS,
					 TRAINED_OPTIONS };

static int take(void *context, int code, const char *value)
{
	struct predict *predict = context;

	if (code != OPT_ENCODER)
		return records_option("predict", &predict->source, code, value);
	predict->encoder_name = value;
	return CLI_OK;
}

/* Whether this object is a text, and not a feature of that name. */
static bool is_text_object(const struct predict *predict, const cJSON *object)
{
	for (uint32_t i = 0; i < predict->trained.config.features; i++)
		if (strcmp(predict->trained.config.feature[i].name, "text") == 0)
			return false;
	return cJSON_HasObjectItem(object, "text");
}

static int predict_input(struct predict *predict, struct error *err)
{
	CLEANUP(lines_done) struct lines lines = { 0 };
	CLEANUP(json_free) cJSON *first = NULL;
	int r;

	if (!lines_next(&lines))
		return predict_open_texts(predict, err);
	lines.again = true;
	if (*lines.text == '{') {
		r = lines_object(&lines, &first, err);
		if (r < 0)
			return r;
		if (!is_text_object(predict, first)) {
			predict->source.data = "-";
			predict->source.lines = &lines;
			return predict_records(predict, err);
		}
	}
	r = predict_open_texts(predict, err);
	if (r == 0)
		r = read_texts(predict, &lines, first, err);
	return r < 0 ? r : predict_texts(predict, err);
}

static int run(struct predict *predict, int texts, char **text, struct error *err)
{
	int r = load_model(predict, err);

	if (r == 0)
		r = load_dataset(predict, err);
	if (r < 0)
		return r;
	if (predict->source.given)
		return predict_records(predict, err);
	if (texts == 0)
		return predict_input(predict, err);
	r = predict_open_texts(predict, err);
	for (int i = 0; r == 0 && i < texts; i++)
		r = predict_add_text(predict, text[i], strlen(text[i]), err);
	return r < 0 ? r : predict_texts(predict, err);
}

static void done(struct predict *predict)
{
	predict_texts_done(predict);
	cJSON_Delete(predict->dataset);
	trained_done(&predict->trained);
}

int cli_predict(int argc, char **argv)
{
	CLEANUP(done)
	struct predict predict = { .trained = TRAINED_EMPTY, .source = { .split = SPLIT_TEST } };
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
	if (predict.source.given && (optind < argc || predict.encoder_name))
		return cli_usage("predict", "found --split or --data beside %s, allowed: one of them",
				 optind < argc ? "TEXT" : "--encoder");
	return run(&predict, argc - optind, argv + optind, &err) < 0 ? cli_error(&err) : CLI_OK;
}
