/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that list the runs and checkpoints on the disk. */
#include "controld/methods/methods.h"
#include "controld/status/figure.h"
#include "core/base/paths.h"
#include "core/run/spool.h"

#include <string.h>
#include <sys/stat.h>

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

struct listing {
	const char *run_id;
	cJSON *list;
	uint64_t uploaded, latest;
	bool known; /* the status page of kiln-uploadd tells what is uploaded */
};

static int list_one(void *context, const char *name, uint64_t bytes)
{
	struct listing *listing = context;
	int64_t step = spool_checkpoint_step(name);
	char path[PATH_BYTES];
	struct stat st;
	cJSON *line;

	if (step < 0)
		return 0;
	line = cJSON_CreateObject();
	if (!json_add_u64(line, "step", (uint64_t)step) || !json_add_u64(line, "bytes", bytes)) {
		cJSON_Delete(line);
		return -ENOMEM;
	}
	if (stat(spool_path(listing->run_id, name, path), &st) == 0)
		(void)json_add_u64(line, "time_s", (uint64_t)st.st_mtime);
	if (listing->known)
		(void)cJSON_AddBoolToObject(line, "uploaded", (uint64_t)step <= listing->uploaded);
	else
		(void)cJSON_AddNullToObject(line, "uploaded");
	listing->latest = (uint64_t)step;
	return cJSON_AddItemToArray(listing->list, line) ? 0 : -ENOMEM;
}

int method_checkpoint_list(struct call *call, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };
	const struct status *uploadd;
	struct listing listing = { 0 };
	int r = run_load(&run, err);

	if (r == -ENOENT) {
		call->code = CONTROL_NOT_FOUND;
		return error_set(err, r, "there is no run on this box yet");
	}
	if (r < 0)
		return r;
	watch_sample(&call->box->watch);
	uploadd = watch_newest(&call->box->watch, STATUS_UPLOADD);
	listing.run_id = run.id;
	listing.known = uploadd && strcmp(uploadd->run_id, run.id) == 0;
	listing.uploaded = listing.known ? uploadd->uploadd.checkpoint_step : 0;
	call->result = cJSON_CreateObject();
	if (!cJSON_AddStringToObject(call->result, "run", run.id) ||
	    !(listing.list = cJSON_AddArrayToObject(call->result, "checkpoints")))
		return call_no_memory(err);
	r = spool_list(run.id, list_one, &listing, err);
	if (r < 0 && r != -ENOENT)
		return r;
	(void)json_add_u64(call->result, "latest_step", listing.latest);
	figure_count(call->result, "uploaded_step", listing.known, listing.uploaded);
	return 0;
}
