/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln experiments`: lists series, shows the trials of one side by side, says what two runs differ in, and
 * promotes a model. */
#include "cli/base/say.h"
#include "cli/client/result.h"
#include "cli/experiments/differs.h"
#include "cli/experiments/table.h"
#include "cli/experiments/where.h"
#include "cli/verbs/act.h"
#include "cli/verbs/verbs.h"
#include "core/run/run.h"
#include "core/series/compared.h"
#include "core/series/difference.h"

static const struct verb_option csv_options[] = {
	{ .name = "csv", .help = "print CSV, with every number as it is" },
	{ 0 },
};

/* Checks the options of output, and finds out where to read. */
static int begin(const struct arguments *arguments, struct experiments *ret)
{
	if (arguments_have(arguments, "json") && arguments_have(arguments, "csv"))
		return cli_usage(arguments->name, "--json and --csv: only one of them is expected");
	return experiments_open(arguments, ret);
}

/* Prints `json` in the form that the options ask for. */
static int print(const struct arguments *arguments, cJSON *json,
		 void (*print_text)(const cJSON *json, FILE *out),
		 void (*print_csv)(const cJSON *json, FILE *out))
{
	if (arguments_have(arguments, "json"))
		return client_print_json(json);
	json_visible(json);
	(arguments_have(arguments, "csv") ? print_csv : print_text)(json, stdout);
	return CLI_OK;
}

/* ---- list ---- */

static int list(const struct arguments *arguments)
{
	CLEANUP(experiments_done) struct experiments experiments = { 0 };
	CLEANUP(json_free) cJSON *rows = NULL;
	int r = begin(arguments, &experiments);

	if (r != CLI_OK || (r = experiments_list(&experiments, &rows)) != CLI_OK)
		return r;
	return print(arguments, rows, series_print_list, series_print_list_csv);
}

static const struct verb experiments_list_verb = {
	.name = "list",
	.summary = "list the series of trials, the newest first",
	.methods = { "experiments.list" },
	.options = { csv_options, experiments_options },
	.run = list,
};

/* ---- show ---- */

static int show(const struct arguments *arguments)
{
	CLEANUP(experiments_done) struct experiments experiments = { 0 };
	CLEANUP(json_free) cJSON *series = NULL, *params = NULL;
	struct error err = { 0 };
	int r = begin(arguments, &experiments);

	if (r != CLI_OK || (r = call_params(arguments, "experiments.show", &params)) != CLI_OK ||
	    (r = experiments_series(&experiments, cJSON_GetStringValue(json_member(params, "id")),
				    &series)) != CLI_OK)
		return r;
	if (arguments_have(arguments, "json"))
		return client_print_json(series);
	compared_prepare(series);
	json_visible(series);
	r = arguments_have(arguments, "csv") ? series_print_csv(series, stdout, &err)
					     : series_print(series, stdout, &err);
	return r < 0 ? cli_error(&err) : CLI_OK;
}

static const struct verb_operand optional_series[] = {
	{ .name = "SERIES", .value = VERB_NAME, .optional = true },
	{ 0 },
};

static const struct verb experiments_show_verb = {
	.name = "show",
	.summary = "show the trials of a series side by side, the best one first",
	.about = "Prints the settings in which the trials differ, the best value of the objective with its "
		 "epoch, the test, how long each trial took, its speed, and the bytes that it read from the "
		 "store. An asterisk marks the winner. Without SERIES the verb shows the newest series.",
	.operands = optional_series,
	.methods = { "experiments.show" },
	.positional = "id",
	.options = { csv_options, experiments_options },
	.run = show,
};

/* ---- compare ---- */

static int compare(const struct arguments *arguments)
{
	CLEANUP(experiments_done) struct experiments experiments = { 0 };
	CLEANUP(json_free) cJSON *a = NULL, *b = NULL, *difference = NULL;
	const char *series = arguments_text(arguments, "series");
	int r = begin(arguments, &experiments);

	if (r != CLI_OK ||
	    (r = experiments_run(&experiments, series, arguments_operand(arguments, 0), &a)) != CLI_OK ||
	    (r = experiments_run(&experiments, series, arguments_operand(arguments, 1), &b)) != CLI_OK)
		return r;
	difference = difference_of(a, b);
	if (!difference)
		return CLI_ERROR;
	return print(arguments, difference, differs_print, differs_print_csv);
}

static const struct verb_operand two_runs[] = {
	{ .name = "A", .value = VERB_TEXT },
	{ .name = "B", .value = VERB_TEXT },
	{ 0 },
};

static const struct verb_option compare_options[] = {
	{ .name = "series",
	  .value = VERB_NAME,
	  .argument = "SERIES",
	  .min = 1,
	  .max = RUN_ID_BYTES - 1,
	  .help = "series whose trials A and B name; default: the newest" },
	{ 0 },
};

static const struct verb experiments_compare_verb = {
	.name = "compare",
	.summary = "say what two trials or two runs differ in, and where their curves part",
	.about = "A and B are each the name of a trial, SERIES/TRIAL, or the id of a run. The verb compares "
		 "their configurations key by key, their plans, the version of Kiln, the device, machine, "
		 "seed and first weights. It names the first epoch with another figure, and prints the "
		 "figures of both.",
	.operands = two_runs,
	.methods = { "experiments.show", "run.show" },
	.parameters_not_options = true,
	.options = { compare_options, csv_options, experiments_options },
	.run = compare,
};

/* ---- promote, rollback ---- */

static int promote(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	const char *trial = arguments_operand(arguments, 1);
	struct error err = { 0 };
	int r = call_params(arguments, "experiments.promote", &params);

	if (r != CLI_OK)
		return r;
	if (trial && cJSON_HasObjectItem(params, "trial"))
		return cli_usage(arguments->name, "\"%s\" is not expected here: --trial is given", trial);
	if (trial && !cJSON_AddItemToObject(params, "trial", json_string(trial)))
		return CLI_ERROR;
	if (client_ask("experiments.promote", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (arguments_have(arguments, "json"))
		return client_print_json(result);
	puts("the box judges the model; kiln log --unit promote says what comes of it");
	return CLI_OK;
}

static const struct verb_operand series_and_trial[] = {
	{ .name = "SERIES", .value = VERB_NAME, .optional = true },
	{ .name = "TRIAL", .value = VERB_NAME, .optional = true },
	{ 0 },
};

static const struct verb experiments_promote_verb = {
	.name = "promote",
	.about = "SERIES is the id of a series, or of a run that belongs to none; without SERIES the verb "
		 "takes the current one. Without TRIAL it takes the winner of the series. The box evaluates "
		 "the model beside the champion on the records of the test split. Only a gain that holds "
		 "(95 %) and reaches promote.min_gain replaces the champion.",
	.operands = series_and_trial,
	.methods = { "experiments.promote" },
	.positional = "series",
	.options = { call_options },
	.run = promote,
};

static int rollback(const struct arguments *arguments)
{
	const struct act act = {
		.method = "experiments.rollback",
		.done = "the former champion comes back; kiln log --unit promote says when"
	};

	return act_run(arguments, &act, NULL);
}

static const struct verb experiments_rollback_verb = {
	.name = "rollback",
	.about = "Copies the former champion to the next number, and makes it the champion. A second call "
		 "goes back one more.",
	.methods = { "experiments.rollback" },
	.options = { call_options },
	.run = rollback,
};

static const struct verb *const subs[] = { &experiments_list_verb,     &experiments_show_verb,
					   &experiments_compare_verb,  &experiments_promote_verb,
					   &experiments_rollback_verb, NULL };

const struct verb verb_experiments = {
	.name = "experiments",
	.summary = "list series of trials, show and compare them, promote a model",
	.about = "A night with `experiments` or `vary` in kiln.conf is a series: each of its trials is an "
		 "ordinary run with other settings. With --store the verbs read the records below sink.url, "
		 "those of older nights and of other boxes, too.",
	.subs = subs,
	.otherwise = "list",
};
