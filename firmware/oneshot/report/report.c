/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/report/report.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/box/report_html.h"
#include "core/box/tonight.h"
#include "core/run/later.h"
#include "core/series/compared.h"
#include "oneshot/report/heartbeat.h"
#include "oneshot/report/make.h"
#include "oneshot/report/send.h"
#include "oneshot/report/series.h"
#include "oneshot/report/whom.h"

#include <string.h>
#include <sysexits.h>

/* A report whose strings are visible, and its pages. */
struct pages {
	cJSON *report, *record, *series;
	char *text, *html;
	size_t text_bytes, html_bytes;
};

static void pages_done(struct pages *pages)
{
	json_free(&pages->report);
	json_free(&pages->record);
	json_free(&pages->series);
	free(pages->text);
	free(pages->html);
}

/* Loads the series of the report, for people. Returns NULL where there is none. */
static cJSON *load_series(const cJSON *report)
{
	cJSON *series = report_series_load(cJSON_GetStringValue(json_member(report, "series.id")));

	if (series) {
		compared_prepare(series);
		json_visible(series);
	}
	return series;
}

static bool print_pages(struct pages *pages)
{
	CLEANUP(close_file) FILE *text = open_memstream(&pages->text, &pages->text_bytes);
	CLEANUP(close_file) FILE *html = open_memstream(&pages->html, &pages->html_bytes);

	if (!text || !html)
		return false;
	report_print(pages->report, text);
	report_html(pages->report, pages->record, pages->series, html);
	return fflush(text) == 0 && fflush(html) == 0;
}

/* Writes the pages for people. `record`: the run.json of the run; NULL = none. */
static int write_pages(const cJSON *report, const cJSON *record, const char *id, struct error *err)
{
	CLEANUP(pages_done)
	struct pages pages = { .report = cJSON_Duplicate(report, true),
			       .record = cJSON_Duplicate(record, true),
			       .series = load_series(report) };
	char path[PATH_BYTES];
	int r;

	if (pages.report)
		json_visible(pages.report);
	if (pages.record)
		json_visible(pages.record);
	if (!pages.report || (record && !pages.record) || !print_pages(&pages))
		return error_set(err, -ENOMEM, "no memory for the report");
	r = file_write_durable(report_path(id, "txt", path), pages.text, pages.text_bytes, err);
	return r < 0 ? r
		     : file_write_durable(report_path(id, "html", path), pages.html, pages.html_bytes, err);
}

/* Writes the files of a report, the JSON last: once the JSON exists, the report counts as made. */
static int write_report(const struct config *config, const cJSON *report, const cJSON *record, const char *id,
			struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_REPORTS, NULL, path), err);

	if (r < 0 || (r = json_print(report, &text, err)) < 0 ||
	    (r = write_pages(report, record, id, err)) < 0 || (r = report_pend(config, id, err)) < 0)
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

/* The end of the newest night, for the monitor. Owns both texts. */
struct ended {
	char *outcome, *text;
};

static void ended_done(struct ended *ended)
{
	free(ended->outcome);
	free(ended->text);
}

static char *member(const cJSON *report, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(report, key));

	return strdup(text ? text : "");
}

static void note_ended(struct ended *ended, const cJSON *report)
{
	ended_done(ended);
	*ended = (struct ended){ member(report, "outcome"), member(report, "text") };
}

/* Makes and writes one report. Where the disk is full (-ENOSPC), posts the report without writing it: the
 * full disk may be what ended the night, and people should know. */
static int make(const struct config *config, const char *id, bool newest, struct ended *ended,
		struct error *err)
{
	CLEANUP(json_free) cJSON *report = NULL, *record = NULL;
	struct tonight night;
	int r = tonight_load_over(id, &night, err);

	if (r < 0 || (r = report_make(config, &night, &report, &record, err)) < 0)
		return r;
	note_ended(ended, report);
	r = write_report(config, report, record, id, err);
	if (r == 0)
		say_made(report);
	if (r == -ENOSPC) {
		log_warning("%s; the report is written when the disk has space", err->text);
		report_tell(config, id, report, newest);
	}
	return r;
}

/* Makes the reports that are due, the oldest first. Returns 1 where it made any: then call again, because
 * others may have become due meanwhile. A report that does not fit on the disk stays due until the next run
 * of this service. */
static int make_due(const struct config *config, struct ended *ended, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[REPORT_ID_BYTES] = NULL;
	uint32_t count = 0, made = 0;
	int r = tonight_settle(err);

	if (r == 0)
		r = report_list("night", &ids, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = make(config, ids[i], i + 1 == count, ended, err);
		if (r == -ENOSPC) {
			r = 0;
			continue;
		}
		if (r == -EBADMSG)
			log_warning("%s; that night gets no report", err->text);
		if (r == 0 || r == -EBADMSG)
			r = tonight_reported(ids[i], err);
		made++;
	}
	return r < 0 ? r : made > 0;
}

static int report_all(const struct config *config, struct error *err)
{
	CLEANUP(ended_done) struct ended ended = { 0 };
	int r = make_due(config, &ended, err);

	do {
		if (config->file)
			report_send(config);
	} while (r > 0 && (r = make_due(config, &ended, err)) > 0);
	report_keep();
	if (ended.outcome && ended.text)
		heartbeat_end(config, ended.outcome, ended.text);
	return r;
}

int oneshot_report(int argc, char **argv)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };

	(void)argc;
	(void)argv;
	later_forget(LATER_REPORT);
	whom_load(&config);
	return report_all(&config, &err) < 0 ? fatal(&err) : EX_OK;
}
