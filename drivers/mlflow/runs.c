/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/mlflow/call.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const statuses[] = {
	[MLFLOW_RUNNING] = "RUNNING",
	[MLFLOW_FINISHED] = "FINISHED",
	[MLFLOW_FAILED] = "FAILED",
	[MLFLOW_KILLED] = "KILLED",
};

/* ---- Experiments ---- */

static int find_experiment(struct mlflow *mlflow, const char *name, char ret_id[static MLFLOW_ID_BYTES],
			   struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	CLEANUP(free_ptr) char *path = NULL;
	char *escaped = mlflow_escape(name);
	const cJSON *stage;
	int r = escaped ? asprintf(&path, "experiments/get-by-name?experiment_name=%s", escaped) : -1;

	curl_free(escaped);
	if (r < 0)
		return error_set(err, -ENOMEM, "experiment %s: no memory", name);
	if ((r = mlflow_get(mlflow, path, &reply, err)) < 0)
		return r;
	stage = json_member(reply, "experiment.lifecycle_stage");
	if (cJSON_IsString(stage) && strcmp(stage->valuestring, "deleted") == 0)
		return error_set(err, -EINVAL,
				 "experiment %s was deleted: restore it, or set tracking.experiment", name);
	return mlflow_reply_text(reply, "experiment.experiment_id", ret_id, MLFLOW_ID_BYTES, err);
}

int mlflow_experiment(struct mlflow *mlflow, const char *name, char ret_id[static MLFLOW_ID_BYTES],
		      struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	cJSON *body;
	int r = find_experiment(mlflow, name, ret_id, err);

	if (r != -ENOENT)
		return r;
	body = cJSON_CreateObject();
	cJSON_AddItemToObject(body, "name", json_string(name));
	r = mlflow_call(mlflow, "experiments/create", body, &reply, err);
	if (r == -EEXIST) /* another client was faster */
		return find_experiment(mlflow, name, ret_id, err);
	return r < 0 ? r : mlflow_reply_text(reply, "experiment_id", ret_id, MLFLOW_ID_BYTES, err);
}

/* ---- Runs ---- */

int mlflow_find_runs(struct mlflow *mlflow, const char *experiment_id, const char *tag, const char *value,
		     char ret_ids[static MLFLOW_DOUBLES_MAX][MLFLOW_ID_BYTES], struct error *err)
{
	static const char *const order = "attributes.run_id ASC";
	CLEANUP(json_free) cJSON *reply = NULL;
	CLEANUP(free_ptr) char *filter = NULL;
	cJSON *body = cJSON_CreateObject();
	const cJSON *run;
	int count = 0, r = 0;

	if (asprintf(&filter, "tags.`%s` = '%s'", tag, value) < 0)
		filter = NULL;
	cJSON_AddItemToObject(body, "experiment_ids", cJSON_CreateStringArray(&experiment_id, 1));
	cJSON_AddStringToObject(body, "filter", filter ? filter : "");
	cJSON_AddNumberToObject(body, "max_results", MLFLOW_DOUBLES_MAX);
	cJSON_AddItemToObject(body, "order_by", cJSON_CreateStringArray(&order, 1));
	r = mlflow_call(mlflow, "runs/search", body, &reply, err);
	cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(reply, "runs")) {
		if (r < 0 || count == MLFLOW_DOUBLES_MAX)
			break;
		r = mlflow_reply_text(run, "info.run_id", ret_ids[count++], MLFLOW_ID_BYTES, err);
	}
	return r < 0 ? r : count;
}

int mlflow_create_run(struct mlflow *mlflow, const char *experiment_id, const char *name, int64_t start_ms,
		      const struct mlflow_text *tags, uint32_t tags_count,
		      char ret_id[static MLFLOW_ID_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	cJSON *body = cJSON_CreateObject();
	int r;

	cJSON_AddStringToObject(body, "experiment_id", experiment_id);
	cJSON_AddItemToObject(body, "run_name", json_string(name));
	cJSON_AddNumberToObject(body, "start_time", (double)start_ms);
	mlflow_add_texts(body, "tags", tags, tags_count, MLFLOW_TAG_BYTES);
	r = mlflow_call(mlflow, "runs/create", body, &reply, err);
	return r < 0 ? r : mlflow_reply_text(reply, "run.info.run_id", ret_id, MLFLOW_ID_BYTES, err);
}

/* JSON has no NaN and no infinities; protobuf's JSON has them as strings (protobuf.dev, "ProtoJSON"). */
static cJSON *number(double value)
{
	if (isnan(value))
		return cJSON_CreateString("NaN");
	if (isinf(value))
		return cJSON_CreateString(value > 0 ? "Infinity" : "-Infinity");
	return cJSON_CreateNumber(value);
}

static void add_metrics(cJSON *body, const struct mlflow_metric *metrics, uint32_t count)
{
	cJSON *list = count ? cJSON_AddArrayToObject(body, "metrics") : NULL;

	for (uint32_t i = 0; i < count; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "key", metrics[i].key);
		cJSON_AddItemToObject(item, "value", number(metrics[i].value));
		cJSON_AddNumberToObject(item, "timestamp", (double)metrics[i].at_ms);
		cJSON_AddNumberToObject(item, "step", (double)metrics[i].step);
		cJSON_AddItemToArray(list, item);
	}
}

int mlflow_log(struct mlflow *mlflow, const char *run_id, const struct mlflow_batch *batch, struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	assert(batch->metrics_count <= MLFLOW_METRICS_MAX && batch->params_count <= MLFLOW_PARAMS_MAX &&
	       batch->tags_count <= MLFLOW_TAGS_MAX);
	cJSON_AddStringToObject(body, "run_id", run_id);
	add_metrics(body, batch->metrics, batch->metrics_count);
	mlflow_add_texts(body, "params", batch->params, batch->params_count, MLFLOW_PARAM_BYTES);
	mlflow_add_texts(body, "tags", batch->tags, batch->tags_count, MLFLOW_TAG_BYTES);
	return mlflow_call(mlflow, "runs/log-batch", body, NULL, err);
}

int mlflow_update_run(struct mlflow *mlflow, const char *run_id, enum mlflow_status status, int64_t end_ms,
		      struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "run_id", run_id);
	cJSON_AddStringToObject(body, "status", statuses[status]);
	if (end_ms > 0)
		cJSON_AddNumberToObject(body, "end_time", (double)end_ms);
	return mlflow_call(mlflow, "runs/update", body, NULL, err);
}

int mlflow_delete_run(struct mlflow *mlflow, const char *run_id, struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	cJSON_AddStringToObject(body, "run_id", run_id);
	return mlflow_call(mlflow, "runs/delete", body, NULL, err);
}
