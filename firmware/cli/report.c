/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "core/json.h"
#include "core/run.h"
#include "drivers/store/store.h"

#include <inttypes.h>
#include <string.h>

#define RECORD_MAX (4u << 20)

static const char usage[] = "Usage: kiln report [RUN-ID] [--config FILE] [--json]\n\n"
			    "What a run came to: its state, loss and accuracy of each epoch, the test "
			    "result, where its outputs lie.\n"
			    "Without RUN-ID this box's current run; with one, the run.json below sink.url of "
			    "the configuration.\n";

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

/* A loss of numbers has no accuracy. */
static void print_test(const cJSON *test)
{
	printf("\ntest ");
	if (cJSON_GetObjectItemCaseSensitive(test, "accuracy"))
		printf("accuracy %.2f %%, ", 100 * number(test, "accuracy"));
	printf("loss %.4f, %.0f rows\n", number(test, "loss"), number(test, "rows"));
}

static void print_left_behind(const cJSON *record)
{
	const cJSON *left = cJSON_GetObjectItemCaseSensitive(record, "left_behind"), *name;

	if (!left)
		return;
	printf("left behind  %.0f files, %.0f bytes, not in the store when the wait for it was over\n",
	       number(left, "files"), number(left, "bytes"));
	cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(left, "names"))
		if (cJSON_IsString(name))
			printf("             %s\n", name->valuestring);
}

static int print_report(const char *text, const char *sink_url, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const cJSON *test;
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
	test = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(record, "metrics"), "test");
	if (test)
		print_test(test);
	printf("\noutputs %s/%s\n", sink_url, id);
	print_left_behind(record);
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

int cli_report(int argc, char **argv)
{
	const char *run_id = NULL;
	struct error err = { 0 };
	bool json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return CLI_OK;
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
			i++;
		else if (argv[i][0] != '-' && !run_id)
			run_id = argv[i];
		else
			return cli_usage("report", "\"%s\" is not expected here", argv[i]);
	}
	return report(run_id, config_path(argc, argv), json, &err) < 0 ? cli_error(&err) : CLI_OK;
}
