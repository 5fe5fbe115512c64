/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/say.h"
#include "cli/verbs/verbs.h"
#include "core/base/json.h"
#include "core/box/reports.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

#include <inttypes.h>
#include <string.h>

#define RECORD_MAX (4u << 20)

static const char usage[] = "Usage: kiln report [RUN-ID] [--config FILE] [--json]\n"
			    "       kiln report --night [--json]\n\n"
			    "What a run came to: its state, loss and accuracy of each epoch, the test "
			    "result, what its time went to, where its outputs lie.\n"
			    "Without RUN-ID this box's current run; with one, the run.json below sink.url of "
			    "the configuration.\n"
			    "--night: the report of this box's last night, also of one in which no run "
			    "started; with what it was posted and uploaded.\n";

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
	return r < 0 ? r : store_get_all(store, key, RECORD_MAX, ret_text, &bytes, err);
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void print_metric(const cJSON *object, const char *key, bool percent)
{
	if (!cJSON_GetObjectItemCaseSensitive(object, key))
		printf("  %10s", "-");
	else if (percent)
		printf("  %8.2f %%", 100 * number(object, key));
	else
		printf("  %10.4f", number(object, key));
}

static void print_epochs(const cJSON *record)
{
	const cJSON *epoch;

	printf("\n%-6s  %10s  %10s  %10s  %10s\n", "epoch", "loss", "accuracy", "val. loss", "val. acc.");
	cJSON_ArrayForEach(epoch, cJSON_GetObjectItemCaseSensitive(record, "epochs")) {
		printf("%-6.0f", number(epoch, "epoch") + 1);
		print_metric(epoch, "loss", false);
		print_metric(epoch, "accuracy", true);
		print_metric(epoch, "validation_loss", false);
		print_metric(epoch, "validation_accuracy", true);
		putchar('\n');
	}
}

static int print_report(const char *text, const char *sink_url, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const cJSON *metrics;
	const char *id, *state, *reason;
	int r;

	if ((r = json_parse("run.json", text, strlen(text), &record, err)) < 0 ||
	    (r = json_get_string("run.json", record, "id", &id, err)) < 0 ||
	    (r = json_get_string("run.json", record, "state", &state, err)) < 0)
		return r;
	printf("run     %s\nstate   %s\n", id, state);
	if (cJSON_GetObjectItemCaseSensitive(record, "reason") &&
	    json_get_string("run.json", record, "reason", &reason, err) == 0)
		printf("reason  %s\n", reason);
	print_epochs(record);
	metrics = cJSON_GetObjectItemCaseSensitive(record, "metrics");
	report_print_test(cJSON_GetObjectItemCaseSensitive(metrics, "test"), stdout);
	report_print_time(cJSON_GetObjectItemCaseSensitive(record, "time"), stdout);
	printf("\noutputs %s/%s\n", sink_url, id);
	report_print_left_behind(cJSON_GetObjectItemCaseSensitive(record, "left_behind"), stdout);
	return 0;
}

/* Whose sink: the file's when one is named or a run is, else the current run's own. */
static int report(const char *run_id, const char *config_file, bool json, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	const struct config_store *sink = &config.sink;
	int r;

	if (run_id) {
		r = config_load(config_file, &config, err);
	} else {
		r = run_load(&run, err);
		sink = &run.config.sink;
	}
	if (r == 0)
		r = read_record(run_id, sink, &text, err);
	if (r == 0 && json)
		puts(text);
	else if (r == 0)
		r = print_report(text, sink->url, err);
	return r;
}

/* ---- A night ---- */

/* Where it is not yet, and why. */
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
	cJSON_ArrayForEach(why, pending)
		if (cJSON_IsString(why))
			printf("\nnot delivered to %s yet: %s\n",
			       strcmp(why->string, "store") == 0 ? "the store" : "notify.url",
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
		r = error_set(err, -ENOENT, "there is no report yet: none of this box's nights has ended");
	if (r < 0 || (r = file_read(report_path(ids[count - 1], json ? "json" : "txt", path),
				    REPORT_BYTES_MAX, &text, NULL, err)) < 0)
		return r;
	fputs(text, stdout);
	if (!json)
		print_pending(ids[count - 1]);
	return 0;
}

int cli_report(int argc, char **argv)
{
	const char *run_id = NULL;
	struct error err = { 0 };
	bool json = false, night = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return CLI_OK;
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--night") == 0)
			night = true;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			i++;
		else if (argv[i][0] != '-' && !run_id)
			run_id = argv[i];
		else
			return cli_usage("report", "\"%s\" is not expected here", argv[i]);
	}
	if (night && run_id)
		return cli_usage("report", "--night is this box's last one: no \"%s\" beside it", run_id);
	if (night)
		return report_night(json, &err) < 0 ? cli_error(&err) : CLI_OK;
	return report(run_id, config_path(argc, argv), json, &err) < 0 ? cli_error(&err) : CLI_OK;
}
