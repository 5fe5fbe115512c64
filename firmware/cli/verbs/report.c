/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/arguments.h"
#include "cli/base/say.h"
#include "cli/runs/record.h"
#include "cli/runs/stored.h"
#include "cli/verbs/verbs.h"
#include "core/base/json.h"
#include "core/box/report_html.h"
#include "core/box/reports.h"
#include "core/run/run.h"
#include "core/run/run_summary.h"
#include "core/series/compared.h"
#include "core/series/series.h"
#include "drivers/store/store.h"

#include <inttypes.h>
#include <string.h>

/* The record of a run and its report, as far as they were read. */
struct known {
	/* its run.json, the report of its last night, and the series of which it is a trial; NULL = there is
	 * none */
	cJSON *record, *report, *series;
};

static void known_done(struct known *known)
{
	json_free(&known->record);
	json_free(&known->report);
	json_free(&known->series);
}

static int get_json(struct store *store, const char *run_id, const char *name, uint64_t max, cJSON **ret_json,
		    struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	uint64_t bytes;
	int r;

	(void)snprintf(key, sizeof(key), "%s/%s", run_id, name);
	r = store_get_all(store, key, max, &text, &bytes, err);
	return r < 0 ? r : json_parse(name, text, bytes, ret_json, err);
}

static bool same_text(const cJSON *a, const cJSON *b)
{
	return cJSON_IsString(a) && cJSON_IsString(b) && strcmp(a->valuestring, b->valuestring) == 0;
}

/* Drops a report that is of another run, or of a night after which the run went on. */
static void drop_older_report(struct known *known)
{
	const cJSON *record = known->record, *done = json_member(known->report, "run.epochs_done");

	if (same_text(json_member(record, "id"), json_member(known->report, "run.id")) &&
	    same_text(json_member(record, "state"), json_member(known->report, "run.state")) &&
	    cJSON_IsNumber(done) &&
	    done->valuedouble == (double)run_epochs_done(json_member(record, "epochs")))
		return;
	json_free(&known->report);
	known->report = NULL;
}

/* Reads the series of which the run is a trial, from the sink of `config`; NULL = from this box. Without it
 * the page has no trials. */
static void read_series(const struct config *config, struct known *known)
{
	const char *id = cJSON_GetStringValue(json_member(known->record, "series.id"));

	if (!id)
		return;
	if (config)
		(void)!stored_one_series(config, id, &known->series, NULL);
	else
		(void)!series_load(id, &known->series, NULL);
	if (known->series)
		compared_prepare(known->series);
}

/* Reads what the store has of a run. */
static int read_stored(const char *run_id, const struct config *config, bool with_report,
		       struct known *ret_known, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_options options = { 0 };
	struct config_store sink;
	int r = stored_run_sink(config, run_id, &sink, err);

	if (r == 0)
		r = store_open(&sink, &options, &store, err);
	if (r == 0)
		r = get_json(store, run_id, "run.json", RUN_JSON_MAX, &ret_known->record, err);
	if (r == 0 && with_report) {
		read_series(config, ret_known);
		r = get_json(store, run_id, "report.json", REPORT_BYTES_MAX, &ret_known->report, err);
	}
	drop_older_report(ret_known);
	return r == -ENOENT && ret_known->record ? 0 : r;
}

/* Reads what this box has of its current run, with the report of its last night. */
static int read_current(bool with_report, struct known *ret_known, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	int r = run_json(&text, err);

	if (r < 0 || (r = json_parse("run.json", text, strlen(text), &ret_known->record, err)) < 0 ||
	    !with_report)
		return r;
	read_series(NULL, ret_known);
	ret_known->report = report_load_newest();
	drop_older_report(ret_known);
	return 0;
}

/* ---- What is shown ---- */

static int write_page(const char *file, const char *text, uint64_t bytes, struct error *err)
{
	int r = file_write_durable(file, text, bytes, err);

	if (r == 0)
		printf("%s: %ju bytes\n", file, (uintmax_t)bytes);
	return r;
}

static int write_html(const char *file, const struct known *known, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(close_file) FILE *out = NULL;
	size_t bytes = 0;

	if (known->report)
		json_visible(known->report);
	if (known->series)
		json_visible(known->series);
	out = open_memstream(&text, &bytes);
	if (out)
		report_html(known->report, known->record, known->series, out);
	if (!out || fflush(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the page");
	return write_page(file, text, bytes, err);
}

static int show(const struct arguments *arguments, const struct known *known, const char *sink_url,
		struct error *err)
{
	const char *html = arguments_text(arguments, "html");
	CLEANUP(free_ptr) char *json = NULL;
	int r;

	if (arguments_have(arguments, "json")) {
		if ((r = json_print(known->record, &json, err)) == 0)
			puts(json);
		return r;
	}
	json_visible(known->record);
	return html ? write_html(html, known, err)
		    : record_print(known->record, sink_url, arguments_have(arguments, "all-epochs"), stdout,
				   err);
}

/* Shows the report of a run. The store that holds the report is the sink of the current run's configuration
 * or, where the user names a run by its id, the sink of --config. */
static int report(const struct arguments *arguments, struct error *err)
{
	const char *run_id = arguments_operand(arguments, 0), *file = arguments_text(arguments, "config");
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(known_done) struct known known = { 0 };
	const bool with_report = arguments_text(arguments, "html") != NULL;
	int r;

	if (run_id)
		r = config_load(file ? file : config_path(0, NULL), &config, err);
	else
		r = run_load(&run, err);
	if (r == 0)
		r = run_id ? read_stored(run_id, &config, with_report, &known, err)
			   : read_current(with_report, &known, err);
	return r < 0 ? r : show(arguments, &known, (run_id ? &config : &run.config)->sink.url, err);
}

/* ---- A night ---- */

/* Prints the destinations that did not get the report yet, each with the reason. */
static void print_pending(const char *id)
{
	CLEANUP(json_free) cJSON *pending = NULL;
	const cJSON *why;
	char path[PATH_BYTES];

	if (json_read(report_path(id, "pending", path), REPORT_BYTES_MAX, &pending, NULL) < 0)
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

/* A box keeps the reports that an earlier version made. */
static int no_page(const char *path, struct error *err)
{
	return error_set(err, -ENOENT,
			 "%s: not there: Kiln 0.1.0 made this report, without a page. kiln report --night "
			 "prints it; kiln report --html FILE makes a page of the current run",
			 path);
}

static int report_night(bool json, const char *html, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	uint64_t bytes;
	uint32_t count;
	int r = report_list("json", &ids, &count, err);

	if (r == 0 && count == 0)
		r = error_set(err, -ENOENT, "there is no report yet: no night of this box has ended");
	if (r < 0 || (r = file_read(report_path(ids[count - 1],
						json   ? "json"
						: html ? "html"
						       : "txt",
						path),
				    REPORT_BYTES_MAX, &text, &bytes, err)) < 0)
		return r == -ENOENT && html ? no_page(path, err) : r;
	if (html)
		return write_page(html, text, bytes, err);
	fputs(text, stdout);
	if (!json)
		print_pending(ids[count - 1]);
	return 0;
}

/* ---- The verb ---- */

static int report_verb(const struct arguments *arguments)
{
	const char *run_id = arguments_operand(arguments, 0);
	const char *html = arguments_text(arguments, "html");
	const bool night = arguments_have(arguments, "night"), json = arguments_have(arguments, "json");
	struct error err = { 0 };
	int r;

	if (night && run_id)
		return cli_usage(arguments->name,
				 "--night shows this box's last night: \"%s\" is not expected here", run_id);
	if (json && html)
		return cli_usage(arguments->name, "--json and --html: only one of them is expected");
	r = night ? report_night(json, html, &err) : report(arguments, &err);
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
	{ .name = "html",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "write the report as one HTML page, with the curves as pictures; an existing file is "
		  "replaced" },
	{ 0 },
};

const struct verb verb_report = {
	.name = "report",
	.summary = "show the result of a run or of the last night",
	.synopsis = "report [RUN-ID] [--config FILE] [--all-epochs] [--json | --html FILE]\n"
		    "report --night [--json | --html FILE]",
	.about =
		"Prints the state of the run and its loss and accuracy by epoch. A curve of the losses, the "
		"test "
		"result, the time by stage and the address of the outputs follow. Without RUN-ID the verb "
		"reads the current run of this box. With RUN-ID it reads RUN-ID/run.json below sink.url of "
		"the configuration. With --html the page also has the report of the run's last night, unless "
		"the run went on since.",
	.operands = operands,
	.options = { options },
	.here = true,
	.run = report_verb,
};
