/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln runs`: lists the runs of a box, with --all also those in the store, with --store only those; with the
 * id of a run, prints the record of this run. */
#include "cli/base/color.h"
#include "cli/base/format.h"
#include "cli/base/say.h"
#include "cli/client/call.h"
#include "cli/client/client.h"
#include "cli/client/host.h"
#include "cli/client/result.h"
#include "cli/runs/record.h"
#include "cli/runs/stored.h"
#include "cli/verbs/verbs.h"
#include "core/base/paths.h"

#include <errno.h>
#include <string.h>

#define ALL_MAX \
	1000u /* most runs that --all and --store list without --limit; each is one request to the store */

/* ---- The list ---- */

static void print_run(const cJSON *run, int width)
{
	static const struct {
		const char *key, *format;
		double factor;
	} figures[] = { { "loss", "%.4f", 1 },
			{ "validation_loss", "%.4f", 1 },
			{ "validation_accuracy", "%.2f %%", 100 },
			{ "test_loss", "%.4f", 1 },
			{ "test_accuracy", "%.2f %%", 100 } };
	const char *state = client_text(run, "state");
	char began[FORMAT_BYTES], took[FORMAT_BYTES], epochs[FORMAT_BYTES], value[FORMAT_BYTES];

	printf("%-*s  %s%-9s%s  %-19s  %8s  %6s", width, client_text(run, "id"),
	       color_begin(color_of_state(state)), state, color_end(),
	       format_time(client_number(run, "started_s"), began),
	       format_span(client_number(run, "took_s"), took),
	       format_number(client_number(run, "epochs"), "%.0f", epochs));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		printf("  %9s", format_number(figures[i].factor * client_number(run, figures[i].key),
					      figures[i].format, value));
	if (cJSON_IsString(json_member(run, "error"))) {
		fputs("  ", stdout);
		fputs(client_text(run, "error"), stdout);
	}
	(void)putchar('\n');
}

static int print_list(const cJSON *result)
{
	const cJSON *run;
	int width = 3;

	cJSON_ArrayForEach(run, json_member(result, "runs"))
		if ((int)strlen(client_text(run, "id")) > width)
			width = (int)strlen(client_text(run, "id"));
	printf("%-*s  %-9s  %-19s  %8s  %6s  %9s  %9s  %9s  %9s  %9s\n", width, "run", "state", "began",
	       "took", "epochs", "loss", "val. loss", "val. acc.", "test loss", "test acc.");
	cJSON_ArrayForEach(run, json_member(result, "runs"))
		print_run(run, width);
	return CLI_OK;
}

/* ---- With the runs in the store ---- */

/* Gets the runs of this box. A box whose kiln-controld does not answer has none: the runs in the store are
 * printed nevertheless. */
static int runs_of_box(const struct arguments *arguments, cJSON **ret_result)
{
	cJSON *params = NULL;
	struct error err = { 0 };
	int r = call_params(arguments, "run.list", &params);

	if (r != CLI_OK || client_ask("run.list", params, ret_result, &err) == 0)
		return r;
	if (err.code == -EREMOTEIO)
		return client_error(&err);
	fprintf(stderr, "kiln: %s; only the runs in the store are listed\n", err.text);
	*ret_result = cJSON_CreateObject();
	return cJSON_AddArrayToObject(*ret_result, "runs") ? CLI_OK : CLI_ERROR;
}

/* Reads the runs below the sink. Returns CLI_OK, or another exit code after a sentence. */
static int runs_of_store(const struct arguments *arguments, cJSON **ret_rows)
{
	CLEANUP(config_done) struct config config = { 0 };
	const char *file = arguments_text(arguments, "config");
	struct error err = { 0 };

	if (client_used())
		return cli_usage(arguments->name,
				 "--all and --store read the store from this machine: --host "
				 "is not expected here");
	if (config_load(file ? file : config_path(0, NULL), &config, &err) < 0 ||
	    stored_runs(&config, (uint32_t)arguments_number(arguments, "limit", ALL_MAX), ret_rows, &err) < 0)
		return cli_error(&err);
	return CLI_OK;
}

static int print_rows(const struct arguments *arguments, cJSON *result)
{
	if (arguments_have(arguments, "json"))
		return client_print_json(result);
	json_visible(result);
	return print_list(result);
}

static int list_store(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *result = cJSON_CreateObject();
	cJSON *rows = NULL;
	int r = runs_of_store(arguments, &rows);

	if (r != CLI_OK)
		return r;
	return cJSON_AddItemToObject(result, "runs", rows) ? print_rows(arguments, result) : CLI_ERROR;
}

static int list_all(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *result = NULL, *stored = NULL;
	const uint64_t limit = arguments_number(arguments, "limit", ALL_MAX);
	cJSON *runs;
	int r;

	if ((r = runs_of_store(arguments, &stored)) != CLI_OK ||
	    (r = runs_of_box(arguments, &result)) != CLI_OK)
		return r;
	runs = cJSON_GetObjectItemCaseSensitive(result, "runs");
	while (stored->child) {
		cJSON *run = cJSON_DetachItemViaPointer(stored, stored->child);

		if (!stored_insert(runs, run))
			cJSON_Delete(run);
	}
	stored_trim(runs, limit);
	return print_rows(arguments, result);
}

/* ---- One run ---- */

static int show(const struct arguments *arguments)
{
	CLEANUP(json_free) cJSON *params = NULL, *result = NULL;
	struct error err = { 0 };
	int r = call_params(arguments, "run.show", &params);

	if (r != CLI_OK)
		return r;
	if (client_ask("run.show", TAKE(params), &result, &err) < 0)
		return client_error(&err);
	if (arguments_have(arguments, "json"))
		return client_print_json(result);
	json_visible(result);
	if (record_print(json_member(result, "run"), NULL, arguments_have(arguments, "all-epochs"), stdout,
			 &err) < 0)
		return cli_error(&err);
	return CLI_OK;
}

/* Returns the option that reads the store; NULL: none was given. */
static const char *store_option(const struct arguments *arguments)
{
	return arguments_have(arguments, "all") ? "all" : arguments_have(arguments, "store") ? "store" : NULL;
}

static int runs(const struct arguments *arguments)
{
	const bool one = arguments->operands > 0 || arguments_have(arguments, "id");
	const char *option = store_option(arguments);

	if (!option && arguments_have(arguments, "config"))
		return cli_usage(arguments->name, "--config is for --all and --store");
	if (option && one)
		return cli_usage(arguments->name,
				 "--%s lists runs; kiln report RUN-ID shows one of the store", option);
	if (arguments_have(arguments, "all") && arguments_have(arguments, "store"))
		return cli_usage(arguments->name, "--all and --store: only one of them is expected");
	if (option)
		return strcmp(option, "all") == 0 ? list_all(arguments) : list_store(arguments);
	return one ? show(arguments) : call_run(arguments, "run.list", print_list);
}

static const struct verb_operand operands[] = {
	{ .name = "ID", .value = VERB_NAME, .optional = true },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "all", .help = "also list the runs in the store, below sink.url of the configuration" },
	{ .name = "store",
	  .help = "list only the runs in the store, those of other boxes, too; asks no box" },
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "with --all or --store, configuration whose sink.url holds the runs; default: the box's "
		  "own" },
	{ .name = "all-epochs", .help = "with ID, print each epoch; otherwise at most 20 are printed" },
	{ 0 },
};

const struct verb verb_runs = {
	.name = "runs",
	.about =
		"Prints a line for each run: when it began, how long its trainer worked, the epochs that are "
		"trained, loss and accuracy of the last epoch and of the test. The box keeps the records of "
		"its newest 30 runs; with --all the verb also reads those in the store. With --store it "
		"lists "
		"what lies below sink.url, without a box; as JSON with the machine, the series and the trial "
		"of each run.\n\n"
		"With ID the verb prints the record of that run, as kiln report does.",
	.methods = { "run.list", "run.show" },
	.positional = "id",
	.operands = operands,
	.options = { options, call_options },
	.run = runs,
};
