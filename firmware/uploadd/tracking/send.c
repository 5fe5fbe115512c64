/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/tracking/send.h"
#include "uploadd/tracking/connect.h"

#include <assert.h>
#include <string.h>

/* A run or a series that is being sent. */
struct sending {
	struct sender *sender;
	const char *id;
	cJSON *about, *now, *sent;
	struct error *err;
};

static void sending_done(struct sending *sending)
{
	cJSON_Delete(sending->about);
	cJSON_Delete(sending->now);
	cJSON_Delete(sending->sent);
}

static int load(struct sending *sending)
{
	int r = files_read(sending->id, FILES_ABOUT, &sending->about, sending->err);

	if (r == 0)
		r = files_read(sending->id, FILES_NOW, &sending->now, sending->err);
	return r < 0 ? r : files_read(sending->id, FILES_SENT, &sending->sent, sending->err);
}

/* Sets a member of sent.json and writes the file. */
static int note_sent(struct sending *sending, const char *key, cJSON *item)
{
	int r = files_set(sending->sent, key, item, sending->err);

	return r < 0 ? r : files_write(sending->id, FILES_SENT, sending->sent, sending->err);
}

static const char *run_id(const struct sending *sending)
{
	return files_text(sending->sent, "run_id");
}

/* ---- The run of MLflow ---- */

/* Deletes all runs of a list except the one to keep. */
static int delete_others(struct sender *sender, const char *keep, char ids[][MLFLOW_ID_BYTES], int count,
			 struct error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++)
		if (strcmp(ids[i], keep) != 0)
			r = mlflow_delete_run(sender->mlflow, ids[i], err);
	return r;
}

/* Looks for runs with the tag of a run or series. Returns how many there are. */
static int find(struct sending *sending, char ids[static MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES])
{
	return mlflow_find_runs(sending->sender->mlflow, files_text(sending->sent, "experiment_id"),
				files_text(sending->about, "tag"), sending->id, ids, sending->err);
}

static int create(struct sending *sending, const char *parent, char ret_id[static MLFLOW_ID_BYTES])
{
	const cJSON *about = sending->about;
	const struct mlflow_text tags[] = { { files_text(about, "tag"), sending->id },
					    { "mlflow.parentRunId", parent } };

	return mlflow_create_run(sending->sender->mlflow, files_text(sending->sent, "experiment_id"),
				 files_text(about, "name"), (int64_t)files_number(about, "started_ms"), tags,
				 *parent ? 2 : 1, ret_id, sending->err);
}

static int ensure_experiment(struct sending *sending)
{
	char id[MLFLOW_ID_BYTES];
	int r;

	if (*files_text(sending->sent, "experiment_id"))
		return 0;
	r = mlflow_experiment(sending->sender->mlflow, files_text(sending->about, "experiment"), id,
			      sending->err);
	return r < 0 ? r : note_sent(sending, "experiment_id", cJSON_CreateString(id));
}

static int ensure_run(struct sending *sending, const char *parent)
{
	char ids[MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES];
	int r, count;

	if (*run_id(sending))
		return 0;
	if ((r = ensure_experiment(sending)) < 0 || (count = r = find(sending, ids)) < 0)
		return r;
	r = count ? delete_others(sending->sender, ids[0], ids, count, sending->err)
		  : create(sending, parent, ids[0]);
	return r < 0 ? r : note_sent(sending, "run_id", cJSON_CreateString(ids[0]));
}

/* Makes the MLflow run of the series, which is the parent of the trial's. *ret_parent: "" = no series. */
static int ensure_parent(struct sending *trial, char ret_parent[static MLFLOW_ID_BYTES])
{
	const char *series = files_text(trial->about, "series");
	CLEANUP(sending_done)
	struct sending sending = { .sender = trial->sender, .id = series, .err = trial->err };
	int r = 0;

	ret_parent[0] = '\0';
	if (!*series || *run_id(trial))
		return 0;
	r = load(&sending);
	if (r == 0 && *files_text(sending.about, "name"))
		r = ensure_run(&sending, "");
	if (r == 0)
		(void)snprintf(ret_parent, MLFLOW_ID_BYTES, "%s", run_id(&sending));
	return r;
}

/* ---- Parameters, tags, metrics ---- */

/* Sends the members of `object` as parameters or tags. */
static int send_texts(struct sending *sending, const cJSON *object, bool are_params)
{
	struct mlflow_text texts[MLFLOW_PARAMS_MAX];
	const cJSON *item = object ? object->child : NULL;
	int r = 0;

	static_assert(MLFLOW_TAGS_MAX == MLFLOW_PARAMS_MAX, "one array is for both");
	while (r == 0 && item) {
		struct mlflow_batch batch = { 0 };
		uint32_t count = 0;

		for (; item && count < MLFLOW_PARAMS_MAX; item = item->next)
			texts[count++] = (struct mlflow_text){ item->string, item->valuestring };
		if (are_params) {
			batch.params = texts;
			batch.params_count = count;
		} else {
			batch.tags = texts;
			batch.tags_count = count;
		}
		r = mlflow_log(sending->sender->mlflow, run_id(sending), &batch, sending->err);
	}
	return r;
}

/* A batch that the server refuses is refused for ever: it is told, and left out. */
static int leave_out(struct sending *sending, int r)
{
	if (r != -EINVAL)
		return r;
	sending->sender->refused(sending->sender->awake_context, sending->id);
	return 0;
}

static int send_params(struct sending *sending)
{
	int r;

	if (files_flag(sending->sent, "params"))
		return 0;
	r = send_texts(sending, cJSON_GetObjectItemCaseSensitive(sending->about, "params"), true);
	r = leave_out(sending, r);
	return r < 0 ? r : note_sent(sending, "params", cJSON_CreateTrue());
}

static const cJSON *tags_now(const struct sending *sending)
{
	return cJSON_GetObjectItemCaseSensitive(sending->now, "tags");
}

static bool has_tags(const struct sending *sending)
{
	const cJSON *tags = tags_now(sending);

	return !tags || cJSON_Compare(tags, cJSON_GetObjectItemCaseSensitive(sending->sent, "tags"), true);
}

static int send_tags(struct sending *sending)
{
	const cJSON *tags = tags_now(sending);
	int r;

	if (has_tags(sending))
		return 0;
	r = leave_out(sending, send_texts(sending, tags, false));
	return r < 0 ? r : note_sent(sending, "tags", cJSON_Duplicate(tags, true));
}

static int send_points(struct sending *sending)
{
	struct journal_batch *batch = sending->sender->batch;
	uint64_t offset = (uint64_t)files_number(sending->sent, "offset");
	int r = journal_read(sending->id, offset, batch, sending->err);

	while (r == 0 && batch->next > offset) {
		const struct mlflow_batch log = { .metrics = batch->metric, .metrics_count = batch->count };

		r = mlflow_log(sending->sender->mlflow, run_id(sending), &log, sending->err);
		if (r == 0)
			sending->sender->metrics += batch->count;
		r = leave_out(sending, r);
		offset = batch->next;
		if (r == 0)
			r = note_sent(sending, "offset", cJSON_CreateNumber((double)offset));
		if (r == 0)
			r = journal_read(sending->id, offset, batch, sending->err);
	}
	return r;
}

/* ---- The end ---- */

static enum mlflow_status status_of(const char *status)
{
	return strcmp(status, "finished") == 0 ? MLFLOW_FINISHED
	       : strcmp(status, "failed") == 0 ? MLFLOW_FAILED
					       : MLFLOW_KILLED;
}

/* The server may have made a run twice, once for a request that was given up. */
static int delete_doubles(struct sending *sending)
{
	char ids[MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES];
	const int count = find(sending, ids);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		if (strcmp(ids[i], run_id(sending)) == 0)
			return delete_others(sending->sender, ids[i], ids, count, sending->err);
	return 0; /* a person has deleted the run */
}

static int send_end(struct sending *sending)
{
	const double ended_ms = files_number(sending->now, "ended_ms");
	int r;

	if (ended_ms <= 0)
		return 0;
	r = delete_doubles(sending);
	if (r == 0)
		r = leave_out(sending, mlflow_update_run(sending->sender->mlflow, run_id(sending),
							 status_of(files_text(sending->now, "status")),
							 (int64_t)ended_ms, sending->err));
	if (r == 0)
		r = note_sent(sending, "ended", cJSON_CreateTrue());
	return r < 0 ? r : 1;
}

/* now.json is read before the points: so where it says that the run has ended, the points are all there. Tags
 * may change after the end: the outcome of a promotion is one. */
static int send_all(struct sending *sending)
{
	char parent[MLFLOW_ID_BYTES];
	int r = load(sending);

	if (r < 0 || !*files_text(sending->about, "name"))
		return r;
	if (files_flag(sending->sent, "ended") && has_tags(sending))
		return 1;
	r = connect_to(sending->sender, sending->about, sending->err);
	if (r == 0)
		r = ensure_parent(sending, parent);
	if (r == 0)
		r = ensure_run(sending, parent);
	if (r == 0)
		r = send_params(sending);
	if (r == 0)
		r = send_tags(sending);
	if (r == 0)
		r = send_points(sending);
	return r < 0 ? r : send_end(sending);
}

/* Forgets what the server had. */
static int begin_again(const char *id, struct error *err)
{
	char path[PATH_BYTES];

	return file_remove_durable(tracking_path(id, FILES_SENT, path), err);
}

int send_run(struct sender *sender, const char *id, struct error *err)
{
	CLEANUP(sending_done) struct sending sending = { .sender = sender, .id = id, .err = err };
	int r = send_all(&sending), again;

	if (r != -ENOENT)
		return r;
	again = begin_again(id, err);
	return again < 0 ? again : r;
}
