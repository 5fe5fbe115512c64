/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report.h"
#include "core/events.h"
#include "core/log.h"
#include "drivers/manager/manager.h"

#include <string.h>
#include <sysexits.h>

#define UNIT "kiln-report.service"

/* ---- Asked for ---- */

/* Root asks, for it does not talk to the network. */
static int ask(bool wait, uint64_t wait_min, struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = manager_open(&manager, err);

	if (r < 0)
		return r;
	/* Posting and uploading, and a while. */
	return wait ? manager_run(manager, UNIT, (2 * wait_min + 2) * 60, err)
		    : manager_start(manager, UNIT, err);
}

void report_ask(const struct config *wait)
{
	struct error err = { 0 };

	if (ask(wait != NULL, wait ? wait->notify.wait_min : 0, &err) < 0)
		log_warning("%s; going on without the report of this night", err.text);
}

void report_ask_due(void)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	struct tonight tonight;
	uint32_t count = 0;

	if (tonight_get(&tonight, NULL) != -ENOENT ||
	    (report_list("pending", &ids, &count, NULL) == 0 && count > 0))
		report_ask(NULL);
}

/* ---- Done ---- */

static int write_text(const cJSON *report, const char *id, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(close_file) FILE *out = NULL;
	char path[PATH_BYTES];
	size_t bytes = 0;

	out = open_memstream(&text, &bytes);
	if (out)
		report_print(report, out);
	if (!out || fflush(out) != 0)
		return error_set(err, -ENOMEM, "no memory for the report");
	return file_write_durable(report_path(id, "txt", path), text, bytes, err);
}

/* The JSON comes last: by it a report is found. */
static int write_report(const struct config *config, const cJSON *report, const char *id, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_REPORTS, NULL, path), err);

	if (r < 0 || (r = json_print(report, &text, err)) < 0 || (r = write_text(report, id, err)) < 0 ||
	    (r = report_pend(config, id, err)) < 0)
		return r;
	return file_write_durable(report_path(id, "json", path), text, strlen(text), err);
}

static void say_made(const cJSON *report)
{
	const cJSON *run = cJSON_GetObjectItemCaseSensitive(report, "run");

	event_send(&(struct event){ .id = EVENT_REPORT_MADE,
				    .run_id = cJSON_GetStringValue(
					    cJSON_GetObjectItemCaseSensitive(run, "id")) },
		   "%s", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(report, "text")));
}

static int make_due(const struct config *config, struct error *err)
{
	CLEANUP(json_free) cJSON *report = NULL;
	struct tonight tonight;
	char id[REPORT_ID_BYTES];
	int r = tonight_get(&tonight, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && (r = report_make(config, &tonight, &report, err)) == 0 &&
	    (r = write_report(config, report, report_id(tonight.from_s, id), err)) == 0)
		say_made(report);
	/* One that cannot be made is not tried again with another night's facts. */
	tonight_over();
	return r;
}

int oneshot_report(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int r;

	(void)argc;
	(void)argv;
	if (config_load(config_path(0, NULL), &config, &err) < 0) {
		log_warning("%s", err.text);
		if (config_kept(config_path(0, NULL), &config, &err) < 0)
			log_warning("%s; nobody can be told of this night", err.text);
	}
	r = make_due(&config, &err);
	if (config.file)
		report_send(&config);
	report_keep();
	return r < 0 ? fatal(&err) : EX_OK;
}
