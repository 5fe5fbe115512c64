/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/runs/record.h"
#include "cli/verbs/verbs.h"
#include "core/base/json.h"
#include "core/box/reports.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

#include <inttypes.h>
#include <string.h>

static int read_record(const char *run_id, const struct config_store *sink, char **ret_text,
		       struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = { 0 };
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	if (!run_id)
		return run_json(ret_text, err);
	(void)snprintf(key, sizeof(key), "%s/run.json", run_id);
	r = store_open(sink, &options, &store, err);
	return r < 0 ? r : store_get_all(store, key, RUN_JSON_MAX, ret_text, &bytes, err);
}

static int print_report(const struct arguments *arguments, const char *text, const char *sink_url,
			struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *json = NULL;
	int r = json_parse("run.json", text, strlen(text), &record, err);

	if (r == 0 && arguments_have(arguments, "json") && (r = json_print(record, &json, err)) == 0)
		puts(json);
	if (r < 0 || json)
		return r;
	json_visible(record);
	return record_print(record, sink_url, arguments_have(arguments, "all-epochs"), stdout, err);
}

/* Prints the report of a run. The store that holds the report is the sink of the current run's configuration
 * or, where the user names a run by its id, the sink of --config. */
static int report(const struct arguments *arguments, struct error *err)
{
	const char *run_id = arguments_operand(arguments, 0), *file = arguments_text(arguments, "config");
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	const struct config_store *sink = &config.sink;
	int r;

	if (run_id) {
		r = config_load(file ? file : config_path(0, NULL), &config, err);
	} else {
		r = run_load(&run, err);
		sink = &run.config.sink;
	}
	if (r == 0)
		r = read_record(run_id, sink, &text, err);
	return r < 0 ? r : print_report(arguments, text, sink->url, err);
}

/* ---- A night ---- */

/* Prints the destinations that did not get the report yet, each with the reason. */
static void print_pending(const char *id)
{
	CLEANUP(json_free) cJSON *pending = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	const cJSON *why;
	char path[PATH_BYTES];
	uint64_t bytes;

	if (file_read(report_path(id, "pending", path), REPORT_BYTES_MAX, &text, &bytes, NULL) < 0 ||
	    json_parse(path, text, bytes, &pending, NULL) < 0)
		return;
	json_visible(pending);
	cJSON_ArrayForEach(why, pending)
		if (cJSON_IsString(why))
			printf("\nnot delivered to %s yet: %s\n",
			       strcmp(why->string, "store") == 0  ? "the store"
			       : strcmp(why->string, "mail") == 0 ? "notify.mail_to"
								  : "notify.url",
			       why->valuestring);
}

static int report_night(bool json, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint32_t count;
	int r = report_list("json", &ids, &count, err);

	if (r == 0 && count == 0)
		r = error_set(err, -ENOENT, "there is no report yet: no night of this box has ended");
	if (r < 0 || (r = file_read(report_path(ids[count - 1], json ? "json" : "txt", path),
				    REPORT_BYTES_MAX, &text, NULL, err)) < 0)
		return r;
	fputs(text, stdout);
	if (!json)
		print_pending(ids[count - 1]);
	return 0;
}

/* ---- The verb ---- */

static int report_verb(const struct arguments *arguments)
{
	const char *run_id = arguments_operand(arguments, 0);
	const bool night = arguments_have(arguments, "night");
	struct error err = { 0 };
	int r;

	if (night && run_id)
		return cli_usage(arguments->name,
				 "--night shows this box's last night: \"%s\" is not expected here", run_id);
	r = night ? report_night(arguments_have(arguments, "json"), &err) : report(arguments, &err);
	return r < 0 ? cli_error(&err) : CLI_OK;
}

static const struct verb_operand operands[] = {
	{ .name = "RUN-ID", .value = VERB_TEXT, .optional = true },
	{ 0 },
};

static const struct verb_option options[] = {
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "configuration whose sink.url holds the run; default: the box's own" },
	{ .name = "night",
	  .help = "print the report of this box's last night, even of a night without a run, and whether the "
		  "report was posted and uploaded" },
	{ .name = "all-epochs", .help = "print each epoch; otherwise at most 20 are printed" },
	{ .name = "json", .help = "print the record as JSON" },
	{ 0 },
};

const struct verb verb_report = {
	.name = "report",
	.summary = "show the result of a run or of the last night",
	.synopsis = "report [RUN-ID] [--config FILE] [--all-epochs] [--json]\n"
		    "report --night [--json]",
	.about = "Prints the state of the run, loss and accuracy by epoch, a curve of the losses, the test "
		 "result, how the time was spent, and the address of the outputs. Without RUN-ID the verb "
		 "reads this box's "
		 "current run; with RUN-ID it reads RUN-ID/run.json below sink.url of the configuration.",
	.operands = operands,
	.options = { options },
	.here = true,
	.run = report_verb,
};
