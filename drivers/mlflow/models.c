/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/mlflow/call.h"

#include <string.h>

#define VERSIONS_MAX 1000 /* versions of one model that are looked at, the newest first */

int mlflow_model(struct mlflow *mlflow, const char *name, struct error *err)
{
	cJSON *body = cJSON_CreateObject();
	int r;

	cJSON_AddItemToObject(body, "name", json_string(name));
	r = mlflow_call(mlflow, "registered-models/create", body, NULL, err);
	return r == -EEXIST ? 0 : r;
}

static bool has_tag(const cJSON *version, const struct mlflow_text *tag)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(version, "tags")) {
		const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "key"));
		const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "value"));

		if (key && value && strcmp(key, tag->key) == 0 && strcmp(value, tag->value) == 0)
			return true;
	}
	return false;
}

int mlflow_find_version(struct mlflow *mlflow, const char *name, const struct mlflow_text *tag,
			char ret_version[static MLFLOW_VERSION_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	CLEANUP(free_ptr) char *filter = NULL;
	CLEANUP(free_ptr) char *path = NULL;
	const cJSON *version;
	char *escaped = NULL;
	int r;

	if (asprintf(&filter, "name='%s'", name) < 0 || !(escaped = mlflow_escape(filter)) ||
	    asprintf(&path, "model-versions/search?filter=%s&max_results=%d&order_by=version_number%%20DESC",
		     escaped, VERSIONS_MAX) < 0)
		path = NULL;
	curl_free(escaped);
	if (!path)
		return error_set(err, -ENOMEM, "model %s: no memory", name);
	if ((r = mlflow_get(mlflow, path, &reply, err)) < 0)
		return r;
	cJSON_ArrayForEach(version, cJSON_GetObjectItemCaseSensitive(reply, "model_versions")) {
		if (!has_tag(version, tag))
			continue;
		r = mlflow_reply_text(version, "version", ret_version, MLFLOW_VERSION_BYTES, err);
		return r < 0 ? r : 1;
	}
	return 0;
}

int mlflow_create_version(struct mlflow *mlflow, const char *name, const char *source, const char *run_id,
			  const struct mlflow_text *tags, uint32_t tags_count,
			  char ret_version[static MLFLOW_VERSION_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *reply = NULL;
	cJSON *body = cJSON_CreateObject();
	int r;

	cJSON_AddItemToObject(body, "name", json_string(name));
	cJSON_AddItemToObject(body, "source", json_string(source));
	if (*run_id)
		cJSON_AddStringToObject(body, "run_id", run_id);
	mlflow_add_texts(body, "tags", tags, tags_count, MLFLOW_TAG_BYTES);
	r = mlflow_call(mlflow, "model-versions/create", body, &reply, err);
	return r < 0 ? r
		     : mlflow_reply_text(reply, "model_version.version", ret_version, MLFLOW_VERSION_BYTES,
					 err);
}

int mlflow_set_alias(struct mlflow *mlflow, const char *name, const char *alias, const char *version,
		     struct error *err)
{
	cJSON *body = cJSON_CreateObject();

	cJSON_AddItemToObject(body, "name", json_string(name));
	cJSON_AddStringToObject(body, "alias", alias);
	cJSON_AddStringToObject(body, "version", version);
	return mlflow_call(mlflow, "registered-models/alias", body, NULL, err);
}
