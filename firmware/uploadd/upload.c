/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/upload.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/base/url.h"
#include "drivers/versions/versions_run.h"
#include "uploadd/checkpoints.h"
#include "uploadd/put.h"
#include "uploadd/retain.h"

#include <string.h>

#define FILES_MAX 65536u

/* ---- Open and close ---- */

void upload_renew_lease(void *worker)
{
	alive_lease(worker, NULL, UPLOAD_QUIET_S);
}

static struct store_options options_of(const struct upload *upload)
{
	struct store_options options = store_options_of(&upload->run.config);

	options.awake = upload_renew_lease;
	options.awake_context = upload->worker;
	return options;
}

static int open_store(struct upload *upload, struct error *err)
{
	const struct store_options options = options_of(upload);
	struct config_store where = upload->run.config.sink;
	char url[PATH_BYTES];
	int r = versions_run_branch(&upload->run, &options, err);

	if (r < 0)
		return r;

	/* Open the store with the run's own prefix, so that store_abort_stale() aborts only uploads of this
	 * run. */
	where.url = url_below(url, sizeof(url), upload->run.config.sink.url, "%s", upload->run.id);
	return store_open(&where, &options, &upload->store, err);
}

int upload_open(struct upload *upload, struct run *run, bool archived, struct alive_worker *worker,
		struct error *err)
{
	int aborted, r;

	*upload = (struct upload){ .run = *run, .archived = archived, .worker = worker };
	*run = (struct run){ 0 };
	r = open_store(upload, err);
	if (r == 0) {
		aborted = store_abort_stale(upload->store, err);
		if (aborted > 0)
			log_info("%s: %d unfinished uploads removed", upload->run.id, aborted);
		r = aborted < 0 ? aborted : checkpoints_find(upload, err);
	}
	if (r < 0)
		upload_close(upload);
	return r;
}

void upload_close(struct upload *upload)
{
	store_close(upload->store);
	run_done(&upload->run);
	free(upload->file);
	steps_done(&upload->stored);
	free(upload->record);
	*upload = (struct upload){ 0 };
}

/* ---- Files ---- */

/* Finds or makes the entry of a file. For a new entry asks the store for the file's size there, because an
 * earlier process may have uploaded the file. */
static int find_file(struct upload *upload, const char *name, struct uploaded **ret_file, struct error *err)
{
	struct store_object object;
	struct uploaded *file;
	int r;

	for (uint32_t i = 0; i < upload->files; i++)
		if (strcmp(upload->file[i].name, name) == 0) {
			*ret_file = &upload->file[i];
			return 0;
		}
	if (upload->files == upload->files_size) {
		uint32_t size = upload->files_size ? 2 * upload->files_size : 16;

		file = size <= FILES_MAX ? realloc(upload->file, size * sizeof(*file)) : NULL;
		if (!file)
			return error_set(err, -ENOMEM, "%s: no memory for %u files", upload->run.id, size);
		upload->file = file;
		upload->files_size = size;
	}
	r = store_stat(upload->store, name, &object, err);
	if (r < 0 && r != -ENOENT)
		return r;
	file = &upload->file[upload->files++];
	*file = (struct uploaded){ .bytes = r < 0 ? UINT64_MAX : object.pin.bytes };
	(void)snprintf(file->name, sizeof(file->name), "%s", name);
	*ret_file = file;
	return 0;
}

struct scan {
	struct upload *upload;
	bool final;
	struct steps local;
	struct error *err;
	struct error refused; /* the first error that is of one object only; code 0 = none */
};

/* Notes an error that is of one object only: the store answers, and may take the others. Returns 0 then, else
 * `r`. */
static int go_on(struct scan *scan, int r)
{
	if (r != -ESTALE && r != -EIO && r != -EACCES && r != -EINVAL && r != -EFBIG)
		return r;
	if (!scan->refused.code)
		scan->refused = *scan->err;
	return 0;
}

static int note_checkpoint(void *context, const char *name, uint64_t bytes)
{
	struct scan *scan = context;
	int64_t step = spool_checkpoint_step(name);

	(void)bytes;
	return step < 0 ? 0 : steps_add(&scan->local, (uint64_t)step, scan->err);
}

static int put_if_new(void *context, const char *name, uint64_t bytes)
{
	struct scan *scan = context;
	struct uploaded *file = NULL;
	uint64_t now = clock_us(), stored = 0;
	const uint64_t rest_us = scan->upload->run.config.tensorboard.upload_s * 1000000;
	bool gone = false;
	int r;

	if (spool_checkpoint_step(name) >= 0)
		return 0;
	r = find_file(scan->upload, name, &file, scan->err);
	if (r < 0)
		return go_on(scan, r);
	if (file->bytes == bytes || (!scan->final && file->at_us && now - file->at_us < rest_us))
		return 0;
	r = put_file(scan->upload, name, NULL, &stored, &gone, scan->err);
	if (r < 0)
		return gone ? 0 : go_on(scan, r);
	/* The file may have grown since it was listed, or become shorter: a trainer that returns to a
	 * checkpoint removes the later records from its logs. */
	file->bytes = stored;
	file->at_us = now;
	return 0;
}

/* ---- The record ---- */

/* Reads the present run.json. Fails with -EAGAIN where it is already the record of a new run. */
static int read_record(const struct upload *upload, char **ret_text, cJSON **ret_json, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	const char *id;
	int r = upload->archived ? run_json_archived(upload->run.id, &text, err) : run_json(&text, err);

	if (r < 0 || (r = json_parse("run.json", text, strlen(text), &json, err)) < 0 ||
	    (r = json_get_string("run.json", json, "id", &id, err)) < 0)
		return r;
	if (strcmp(id, upload->run.id) != 0)
		return error_set(err, -EAGAIN, "%s: the record of this run is in the archive now",
				 upload->run.id);
	*ret_text = TAKE(text);
	*ret_json = TAKE(json);
	return 0;
}

/* Removes "left_behind" and "uploads_refused" from the record: the store has all files now (core/run/run.h).
 */
static int forget_left_behind(struct upload *upload, char **text, cJSON **record, struct error *err)
{
	static const char nothing[] = "{\"left_behind\": null, \"uploads_refused\": null}";
	int r;

	if (!cJSON_HasObjectItem(*record, "left_behind") && !cJSON_HasObjectItem(*record, "uploads_refused"))
		return 0;
	r = upload->archived ? run_note_archived(upload->run.id, nothing, err) : run_note(nothing, err);
	if (r < 0)
		return r;
	free(TAKE(*text));
	cJSON_Delete(TAKE(*record));
	return read_record(upload, text, record, err);
}

static int upload_record(struct upload *upload, char **text, struct error *err)
{
	int r;

	if (upload->record && strcmp(upload->record, *text) == 0)
		return 0;
	r = store_put_checked(upload->store, "run.json", *text, strlen(*text), NULL, err);
	if (r < 0)
		return r;
	free(upload->record);
	upload->record = TAKE(*text);
	return 0;
}

/* Puts the plan of a run with a branch of its own, where the store does not have it: kiln-fetchd goes on
 * without the store there. */
static int put_plan(struct upload *upload, struct error *err)
{
	char tail[PATH_BYTES / 2], path[PATH_BYTES];
	struct store_object object;
	int r;

	(void)snprintf(tail, sizeof(tail), "%s/plan", upload->run.id);
	(void)path_of(upload->archived ? PATH_ARCHIVE : PATH_RUN, upload->archived ? tail : "plan", path);
	if (!*upload->run.branch_from || !file_exists(path, NULL))
		return 0;
	r = store_stat(upload->store, "plan", &object, err);
	return r == -ENOENT ? store_put_file(upload->store, "plan", path, NULL, NULL, err) : r;
}

/* Ends the uploads of a run that is final, and whose other files are in the store. The commit comes before
 * the spool is removed: after a kill between the two the commit is found, and not made again. */
static int end(struct upload *upload, struct tracker *tracker, const cJSON *record, struct error *err)
{
	const struct store_options options = options_of(upload);
	int r = put_plan(upload, err);

	if (r < 0 || (r = versions_run_commit(&upload->run, record, &options, err)) < 0)
		return r;
	tracker_collect(tracker, &upload->run, record);
	return spool_remove(upload->run.id, err);
}

/* ---- A pass ---- */

static void report_retries(struct upload *upload)
{
	struct store_counters counters = store_counters_of(upload->store);
	uint64_t retries = store_counters_retries(&counters);
	char text[STORE_COUNTERS_TEXT];

	if (retries != upload->retries)
		log_notice("sink: %s", store_counters_text(&counters, text));
	upload->retries = retries;
}

/* The order matters. The run's state was read before the files are listed: so where it is final, the list has
 * all files. The record is read after the checkpoints are listed: so it has the epoch of each of them.
 * Checkpoints come first: a file that the store refuses must not hold them up. */
int upload_pass(struct upload *upload, struct tracker *tracker, bool *ret_complete, struct error *err)
{
	struct scan scan = { .upload = upload, .final = run_state_is_final(upload->run.state), .err = err };
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	int r;

	*ret_complete = false;
	r = spool_list(upload->run.id, note_checkpoint, &scan, err);
	if (r == 0)
		r = read_record(upload, &text, &record, err);
	if (r == 0) {
		retain_find_best(upload, record);
		r = go_on(&scan, checkpoints_upload(upload, &scan.local, err));
	}
	steps_done(&scan.local);
	if (r == 0)
		r = spool_list(upload->run.id, put_if_new, &scan, err);
	if (r == 0 && !scan.refused.code)
		r = forget_left_behind(upload, &text, &record, err);
	if (r == 0)
		r = upload_record(upload, &text, err);
	report_retries(upload);
	if (r == 0 && scan.refused.code) {
		*err = scan.refused;
		r = err->code;
	}
	if (r < 0 || !scan.final)
		return r;
	r = end(upload, tracker, record, err);
	*ret_complete = r == 0;
	return r;
}

/* ---- Without the store ---- */

/* What the store has is not known, so every checkpoint that the store should have stays in the spool. */
int upload_trim_spool(struct error *err)
{
	struct upload upload = { 0 };
	struct scan scan = { .upload = &upload, .err = err };
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	int r = run_load(&upload.run, err);

	if (r == 0)
		r = spool_list(upload.run.id, note_checkpoint, &scan, err);
	if (r == 0)
		r = read_record(&upload, &text, &record, err);
	if (r == 0) {
		retain_find_best(&upload, record);
		r = retain_trim_spool(&upload, &scan.local, err);
	}
	steps_done(&scan.local);
	run_done(&upload.run);
	return r;
}
