/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/predict.h"
#include "cli/trained/operand.h"
#include "cli/trained/records_options.h"

#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/table/rows.h"
#include "cli/verbs/verbs.h"
#include "trained/features.h"

#include <inttypes.h>
#include <string.h>

/* ---- The model ---- */

static int load_model(struct predict *predict, struct error *err)
{
	struct trained *trained = &predict->trained;
	int r = trained_load(trained, err);

	if (r < 0)
		return r;
	r = operand_open_model(trained, false, err);
	if (r < 0)
		return r;
	predict->answers = answers_of(&trained->saved.config, model_classes(trained->model));
	return 0;
}

/* ---- Standard input ---- */

/* Adds the text of a line that is the JSON object {"text": "..."}. */
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
	predict->json = predict->json || objects;
	return r;
}

/* ---- Records in, a batch at a time ---- */

static int print_row(const struct predict *predict, const float *output, struct records_origin from,
		     struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	int r;

	if (from.key)
		cJSON_AddItemToObject(object, "shard", json_string(from.key));
	else if (from.input && strcmp(predict->source.data, "-") != 0)
		cJSON_AddItemToObject(object, "file", json_string(from.input));
	json_add_u64(object, from.key ? "record" : "line", from.record);
	r = answer_json(&predict->answers, output, object, err);
	if (r < 0)
		return records_blame(from, err);
	(void)cli_print_json_line(object);
	return 0;
}

/* Puts the first and the last record of the batch into the error's text. */
static int blame_batch(const struct records *records, uint32_t rows, struct error *err)
{
	const struct records_origin first = records_origin(records, 0),
				    last = records_origin(records, rows - 1);

	if (first.key)
		return error_prefix(err, "%s: record %" PRIu64 " .. %s: record %" PRIu64, first.key,
				    first.record, last.key, last.record);
	return error_prefix(err, "%s%slines %" PRIu64 " .. %" PRIu64, first.input ? first.input : "",
			    first.input ? ": " : "", first.record, last.record);
}

/* Predicts the rows of a split, of shards, or of a table that is open. */
static int predict_records(struct predict *predict, struct error *err)
{
	CLEANUP(records_closep) struct records *records = NULL;
	CLEANUP(free_ptr) float *output = NULL;
	struct trained *trained = &predict->trained;
	struct model_batch batch;
	int r = records_open(trained, &predict->source, trained->model, &records, err);

	if (r < 0)
		return r;
	output = calloc(trained->saved.config.run.batch_rows, predict->answers.outputs * sizeof(float));
	if (!output)
		return error_set(err, -ENOMEM, "no memory for a batch's output");
	while (r == 0 && (r = records_next(records, &batch, err)) > 0) {
		r = model_predict(trained->model, batch.input, batch.rows, output, err);
		if (r < 0)
			return blame_batch(records, batch.rows, err);
		for (uint32_t i = 0; r == 0 && i < batch.rows; i++)
			r = print_row(predict, output + i * predict->answers.outputs,
				      records_origin(records, i), err);
	}
	return r;
}

static int predict_data(struct predict *predict, struct error *err)
{
	int r = records_open_rows(&predict->source, &predict->trained, err);

	if (r == 0)
		r = predict_records(predict, err);
	table_rows_close(TAKE(predict->source.rows));
	return r;
}

/* Tells whether the model was trained on the shards of a table. */
static bool reads_table(const struct predict *predict)
{
	return json_member(predict->dataset, "columns") != NULL;
}

static int predict_tables(struct predict *predict, int names, char **name, struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < names; i++) {
		r = records_open_table(&predict->source, &predict->trained, name[i], err);
		if (r == 0)
			r = predict_records(predict, err);
		table_rows_close(TAKE(predict->source.rows));
	}
	return r;
}

/* ---- The verb ---- */

/* Returns true for a JSON object with the text to predict, {"text": ...}. Where the schema has a feature
 * called "text", such an object is a record instead. */
static bool is_text_object(const struct predict *predict, const cJSON *object)
{
	for (uint32_t i = 0; i < predict->trained.saved.config.features; i++)
		if (strcmp(predict->trained.saved.config.feature[i].name, "text") == 0)
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
		r = trained_dataset(&predict->trained, &predict->dataset, err);
	if (r < 0)
		return r;
	predict->answers.dataset = predict->dataset;
	if (predict->source.given)
		return predict_data(predict, err);
	if (reads_table(predict))
		return texts ? predict_tables(predict, texts, text, err)
			     : predict_tables(predict, 1, (char *[]){ "-" }, err);
	if (texts == 0)
		return predict_input(predict, err);
	if (predict_reads_pictures(predict))
		return predict_pictures(predict, texts, text, err);
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

static int predict_verb(const struct arguments *arguments)
{
	const int texts = arguments->operands - 1;
	CLEANUP(done) struct predict predict = { 0 };
	struct error err = { 0 };

	predict.json = arguments_have(arguments, "json");
	records_read(&predict.source, arguments);
	predict.encoder_name = arguments_text(arguments, "encoder");
	if (predict.source.given && (texts > 0 || predict.encoder_name))
		return cli_usage(arguments->name,
				 "found --split or --data together with %s, expected only one of them",
				 texts > 0 ? "TEXT" : "--encoder");
	if (operand_read(arguments, &predict.trained, &err) < 0 ||
	    run(&predict, texts, arguments->operand + 1, &err) < 0)
		return cli_error(&err);
	return CLI_OK;
}

static const struct verb_operand operands[] = {
	{ .name = "MODEL", .value = VERB_LOCATION },
	{ .name = "TEXT", .value = VERB_LOCATION, .optional = true, .repeated = true },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "encoder",
	  .value = VERB_LOCATION,
	  .argument = "E",
	  .help = "encoder that turned the training texts into vectors: a path, a URL, exec:PROGRAM or "
		  "bert:DIR; "
		  "default: encoder.bin beside the model; for a network that reads tokens the verb reads "
		  "vocabulary.txt or tokenizer.json beside the model instead" },
	{ 0 },
};

static const struct verb_option json_option[] = {
	{ .name = "json",
	  .help = "print JSON also for texts and files, with file, and the five most probable classes in "
		  "top; "
		  "bytes of a text that are not UTF-8 become U+FFFD" },
	{ 0 },
};

const struct verb verb_predict = {
	.name = "predict",
	.summary = "apply a trained network to texts, pictures, records or other values",
	.synopsis = "predict MODEL [TEXT...] [OPTION...]\n"
		    "predict MODEL FILE... [OPTION...]\n"
		    "predict MODEL TABLE... [OPTION...]\n"
		    "predict MODEL (--split NAME | --data INPUT) [OPTION...]",
	.about = OPERAND_MODEL
	"\n\n"
	"Without TEXT, --split and --data the verb reads standard input: one text "
	"per line or, if the first byte is {, one JSON object per line. An object is {\"text\": "
	"...}, or has the values of features, such as {\"image\": [...]}. It may have features of "
	"the schema that the network does not read.\n\n"
	"If the model was trained on a table of kiln prep, TABLE and standard input have new rows: "
	"CSV or TSV with a header, or JSON lines. They may be compressed by gzip or zstd. The columns become "
	"features as kiln prep made them. The label is not read, nor are further columns of CSV. A CSV file "
	"without a column that the network reads is refused. In JSON lines such a value is missing, and a "
	"key that the table does not have is refused. A row without a number that --missing stop demands is "
	"refused.\n\n"
	"FILE is a JPEG or PNG file, a folder with such files, or a URL, for a network whose input is a "
	"feature of dtype picture: the file is decoded as in training, and cut at the centre. For a network "
	"that reads the pixels (uint8) of kiln prep --raw the file is decoded as prep did it, which "
	"dataset.json beside the model says. The verb prints a line for each file, with the five most "
	"probable classes. A file that is no picture is named, the others are predicted, and the exit code "
	"is 1.\n\n"
	"For texts the verb prints label, probability "
	"and text. For all other input, and with --json, it prints one JSON object per line. The "
	"object begins with file and line, with line alone for standard input, or with shard and record. "
	"Then come class, label, probability and the probability of each label. For a regression it has "
	"value or values.",
	.operands = operands,
	.options = { options, records_options, operand_options, where_options, json_option },
	.here = true,
	.run = predict_verb,
};
