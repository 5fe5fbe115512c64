/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/table/rows.h"
#include "cli/trained/confusion.h"
#include "cli/trained/operand.h"
#include "cli/trained/records_options.h"
#include "cli/trained/worst.h"
#include "cli/verbs/verbs.h"
#include "core/base/json.h"
#include "model/learn/metrics.h"

#include <inttypes.h>
#include <string.h>

struct evaluation {
	struct trained trained;
	struct records_source source;

	cJSON *dataset; /* dataset.json beside the model; NULL: there is none */
	struct answers answers;
	struct records *records;
	/* `metrics` and `weighted_metrics` of Keras. `weighted` is NULL without
	 * model.sample_weight. */
	struct metrics *metrics, *weighted;
	uint64_t outputs, rows;
	float *output; /* the network's outputs for one batch */
	struct model_metrics passes;
	uint64_t worst_rows; /* of --worst; 0 = not given */
	struct worst worst;
};

/* Returns an error where the batch had a bad value, and puts the record with this value into the error's
 * text. */
static int check_batch(const struct evaluation *evaluation, struct error *err)
{
	uint32_t row = UINT32_MAX;
	const int r = model_fault(evaluation->trained.model, &row, err);

	return r == 0 || row == UINT32_MAX ? r : records_blame(records_origin(evaluation->records, row), err);
}

static int evaluate_batch(struct evaluation *evaluation, struct model_batch *batch, struct error *err)
{
	struct model *model = evaluation->trained.model;
	const struct metrics_batch rows = { .rows = batch->rows,
					    .prediction = evaluation->output,
					    .label = batch->label };
	struct metrics_batch weighted = rows;
	void *ticket;
	int r;

	batch->ticket = evaluation;
	r = model_evaluate(model, batch, err);
	if (r == 0)
		r = model_batch_done(model, true, &ticket, err);
	if (r == 0)
		r = check_batch(evaluation, err);
	if (r == 0)
		r = model_predict(model, batch->input, batch->rows, evaluation->output, err);
	if (r == 0)
		r = metrics_add(evaluation->metrics, &rows, err);
	if (r == 0 && evaluation->worst_rows)
		worst_add(&evaluation->worst, &rows, evaluation->records);
	weighted.weight = batch->weight;
	if (r == 0 && evaluation->weighted)
		r = metrics_add(evaluation->weighted, &weighted, err);
	evaluation->rows += batch->rows;
	return r;
}

static int evaluate(struct evaluation *evaluation, struct error *err)
{
	struct trained *trained = &evaluation->trained;
	struct metrics_shape shape;
	struct model_batch batch;
	int r = trained_load(trained, err);

	if (r < 0 || (r = records_open_rows(&evaluation->source, trained, err)) < 0 ||
	    (r = operand_open_model(trained, true, err)) < 0 ||
	    (r = trained_dataset(trained, &evaluation->dataset, err)) < 0 ||
	    (r = records_open(trained, &evaluation->source, trained->model, &evaluation->records, err)) < 0)
		return r;
	evaluation->outputs = model_classes(trained->model);
	evaluation->answers = answers_of(&trained->saved.config, evaluation->outputs);
	evaluation->answers.dataset = evaluation->dataset;
	evaluation->output =
		malloc(evaluation->outputs * trained->saved.config.run.batch_rows * sizeof(float));
	if (!evaluation->output)
		return error_set(err, -ENOMEM, "no memory for a batch's output");
	shape = metrics_shape_of(&trained->saved.config, evaluation->outputs);
	r = metrics_open(&shape, &evaluation->metrics, err);
	if (r == 0 && evaluation->worst_rows)
		r = worst_open(&shape, evaluation->worst_rows, &evaluation->worst, err);
	if (r == 0 && model_sample_weight(trained->model).name)
		r = metrics_open(&shape, &evaluation->weighted, err);
	while (r == 0 && (r = records_next(evaluation->records, &batch, err)) > 0)
		r = evaluate_batch(evaluation, &batch, err);
	if (r == 0 && evaluation->rows == 0)
		r = error_set(err, -ENODATA, "%s: found no record to evaluate",
			      records_source_name(&evaluation->source));
	return r < 0 ? r : model_metrics(trained->model, &evaluation->passes, err);
}

/* ---- What it prints ---- */

struct figure {
	char name[48];
	double value;
};

static uint32_t add_figures(const struct metrics *metrics, const char *prefix,
			    struct figure out[static METRICS_VALUES_MAX])
{
	struct metrics_value value[METRICS_VALUES_MAX];
	const uint32_t count = metrics ? metrics_values(metrics, value) : 0;

	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(out[i].name, sizeof(out[i].name), "%s%s", prefix, value[i].name);
		out[i].value = value[i].value;
	}
	return count;
}

static uint32_t figures_of(const struct evaluation *evaluation,
			   struct figure out[static 2 * METRICS_VALUES_MAX])
{
	const uint32_t count = add_figures(evaluation->metrics, "", out);

	return count + add_figures(evaluation->weighted, "weighted_", out + count);
}

static void print_text(const struct evaluation *evaluation)
{
	struct figure figure[2 * METRICS_VALUES_MAX];
	const uint32_t count = figures_of(evaluation, figure);

	printf("%-29s %" PRIu64 "\n%-29s %.6f\n", "rows", evaluation->rows, "loss", evaluation->passes.loss);
	for (uint32_t i = 0; i < count; i++)
		printf("%-29s %.6f\n", figure[i].name, figure[i].value);
	if (records_skipped(evaluation->records))
		printf("%-29s %" PRIu64 "\n", "left out", records_skipped(evaluation->records));
	if (records_changed(evaluation->records))
		printf("%-29s %" PRIu64 "\n", "shards changed since the run",
		       records_changed(evaluation->records));
	confusion_print(evaluation->metrics, &evaluation->answers);
	if (evaluation->worst_rows)
		worst_print(&evaluation->worst, &evaluation->answers);
}

static void print_json(const struct evaluation *evaluation)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	struct figure figure[2 * METRICS_VALUES_MAX];
	const uint32_t count = figures_of(evaluation, figure);

	cJSON_AddStringToObject(json, "model", evaluation->trained.name);
	if (!records_are_lines(&evaluation->source))
		cJSON_AddStringToObject(json, "split", split_name(evaluation->source.split));
	json_add_u64(json, "rows", evaluation->rows);
	json_add_u64(json, "left_out", records_skipped(evaluation->records));
	json_add_u64(json, "changed", records_changed(evaluation->records));
	cJSON_AddNumberToObject(json, "loss", evaluation->passes.loss);
	for (uint32_t i = 0; i < count; i++)
		cJSON_AddNumberToObject(json, figure[i].name, figure[i].value);
	confusion_json(evaluation->metrics, &evaluation->answers, json);
	if (evaluation->worst_rows)
		worst_json(&evaluation->worst, &evaluation->answers, json);
	(void)cli_print_json(json);
}

/* ---- The verb ---- */

static void done(struct evaluation *evaluation)
{
	free(evaluation->output);
	cJSON_Delete(evaluation->dataset);
	metrics_close(evaluation->metrics);
	metrics_close(evaluation->weighted);
	worst_done(&evaluation->worst);
	records_closep(&evaluation->records);
	table_rows_close(evaluation->source.rows);
	trained_done(&evaluation->trained);
}

static int evaluate_verb(const struct arguments *arguments)
{
	CLEANUP(done) struct evaluation evaluation = { .source = { .labels = true } };
	struct error err = { 0 };

	records_read(&evaluation.source, arguments);
	evaluation.worst_rows = arguments_number(arguments, "worst", 0);
	if (operand_read(arguments, &evaluation.trained, &err) < 0 || evaluate(&evaluation, &err) < 0)
		return cli_error(&err);
	if (arguments_have(arguments, "json"))
		print_json(&evaluation);
	else
		print_text(&evaluation);
	return CLI_OK;
}

static const struct verb_option own_options[] = {
	{ .name = "worst",
	  .value = VERB_NUMBER,
	  .argument = "N",
	  .min = 1,
	  .max = WORST_MAX,
	  .help = "list the N records that a classifier gets most wrong: those whose own class has the "
		  "smallest "
		  "probability, with shard and index, label and predicted class" },
	{ .name = "json",
	  .help = "print one JSON object, with the confusion matrix and the figures of each class" },
	{ 0 },
};

const struct verb verb_evaluate = {
	.name = "evaluate",
	.summary = "measure a trained network on a split",
	.synopsis = "evaluate MODEL [--split NAME | --data INPUT] [OPTION...]",
	.about =
		"Measures a trained network on records with labels: loss, accuracy, precision, recall, AUC "
		"and more, as Keras defines them; the confusion matrix; and precision, recall and F1 of each "
		"class and their macro average. The classes have the names of dataset.json beside the "
		"model. With model.sample_weight the "
		"loss is weighted, and each metric except the confusion matrix and the figures of each class "
		"is printed a second time as weighted_*, as Keras's weighted_metrics. " OPERAND_MODEL,
	.operands = operand_model,
	.options = { records_options, operand_options, where_options, own_options },
	.here = true,
	.run = evaluate_verb,
};
