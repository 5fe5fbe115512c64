/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that list the runs and checkpoints on the disk. */
#include "controld/methods/methods.h"
#include "controld/status/checkpoints.h"
#include "controld/status/figure.h"

#include <string.h>

#define RUNS_DEFAULT 31u

int method_run_list(struct call *call, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	struct run_rows *rows = &call->box->run_rows;
	int limit = (int)control_integer(&call->request, "limit", RUNS_DEFAULT);
	const char *current = "";
	cJSON *runs;

	call->result = cJSON_CreateObject();
	runs = cJSON_AddArrayToObject(call->result, "runs");
	if (!runs)
		return call_no_memory(err);
	if (run_json(&text, err) != -ENOENT) {
		cJSON *row = run_row("", text, err);

		(void)cJSON_AddTrueToObject(row, "current");
		(void)cJSON_AddItemToArray(runs, row);
		current = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "id"));
	}
	run_rows_read(rows);
	/* A run that has ended may be both the current run and in the archive: list it once. */
	for (size_t i = 0; i < rows->count && cJSON_GetArraySize(runs) < limit; i++)
		if (!current || strcmp(rows->of[i].id, current) != 0)
			(void)cJSON_AddItemToArray(runs, cJSON_Duplicate(rows->of[i].row, true));
	return 0;
}

int method_run_show(struct call *call, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *id = control_text(&call->request, "id", NULL), *current;
	int r = run_json(&text, err);

	if (r == 0 && (r = json_parse("run.json", text, strlen(text), &record, err)) < 0)
		return r;
	if (id && (r == -ENOENT || (r == 0 && json_get_string("run.json", record, "id", &current, err) == 0 &&
				    strcmp(current, id) != 0))) {
		free(TAKE(text));
		json_free(&record);
		record = NULL;
		r = run_json_archived(id, &text, err);
		if (r == 0 && (r = json_parse("run.json", text, strlen(text), &record, err)) < 0)
			return r;
	}
	if (r == -ENOENT) {
		call->code = CONTROL_NOT_FOUND;
		return id ? error_set(err, r, "there is no run %s on this box", id)
			  : error_set(err, r, "there is no run on this box yet");
	}
	if (r < 0)
		return r;
	call->result = cJSON_CreateObject();
	return cJSON_AddItemToObject(call->result, "run", TAKE(record)) ? 0 : call_no_memory(err);
}

/* ---- Checkpoints ---- */

/* Returns the status page of a daemon for this run; NULL = it has none. */
static const struct status *page_of(const struct call *call, enum status_daemon daemon, const char *run_id)
{
	const struct status *page = watch_newest(&call->box->watch, daemon);

	return page && strcmp(page->run_id, run_id) == 0 ? page : NULL;
}

int method_checkpoint_list(struct call *call, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(checkpoints_done) struct checkpoints found = { 0 };
	int r = run_load(&run, err);

	if (r == -ENOENT) {
		call->code = CONTROL_NOT_FOUND;
		return error_set(err, r, "there is no run on this box yet");
	}
	if (r < 0)
		return r;
	watch_sample(&call->box->watch);
	r = checkpoints_read(run.id, page_of(call, STATUS_TRAIND, run.id),
			     page_of(call, STATUS_UPLOADD, run.id), &found, err);
	if (r < 0)
		return r;
	call->result = cJSON_CreateObject();
	if (!cJSON_AddStringToObject(call->result, "run", run.id) ||
	    !cJSON_AddItemToObject(call->result, "checkpoints", TAKE(found.rows)))
		return call_no_memory(err);
	figure_count(call->result, "latest_step", found.any, found.newest);
	figure_count(call->result, "uploaded_step", found.any_stored, found.stored);
	return 0;
}
