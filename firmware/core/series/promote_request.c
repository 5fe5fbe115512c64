/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/promote_request.h"
#include "core/base/json.h"

#include <string.h>

#define FILE_NAME "promote.json" /* in PATH_RUNS */
#define BYTES_MAX 4096u

static int read_members(const char *path, const cJSON *json, struct promote_request *ret_request,
			struct error *err)
{
	const char *series, *trial;
	uint64_t from;
	int r;

	if ((r = json_get_string(path, json, "series", &series, err)) < 0 ||
	    (r = json_get_string(path, json, "trial", &trial, err)) < 0 ||
	    (r = json_get_u64(path, json, "from", &from, err)) < 0)
		return r;
	*ret_request = (struct promote_request){
		.rollback = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "rollback")),
		.force = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "force")),
		.from = from,
		.mark = (uint32_t)json_number(json, "mark", 0),
	};
	(void)snprintf(ret_request->series, sizeof(ret_request->series), "%s", series);
	(void)snprintf(ret_request->trial, sizeof(ret_request->trial), "%s", trial);
	return 1;
}

int promote_request_get(struct promote_request *ret_request, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	int r = json_read(path_of(PATH_RUNS, FILE_NAME, path), BYTES_MAX, &json, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : read_members(path, json, ret_request, err);
}

int promote_request_put(const struct promote_request *request, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if (!cJSON_AddBoolToObject(json, "rollback", request->rollback) ||
	    !cJSON_AddBoolToObject(json, "force", request->force) ||
	    !cJSON_AddStringToObject(json, "series", request->series) ||
	    !cJSON_AddStringToObject(json, "trial", request->trial) ||
	    !json_add_u64(json, "from", request->from) || !json_add_u64(json, "mark", request->mark))
		return error_set(err, -ENOMEM, FILE_NAME ": no memory");
	if ((r = path_make(path_of(PATH_RUNS, NULL, path), err)) < 0 ||
	    (r = json_print(json, &text, err)) < 0)
		return r;
	return file_write_durable(path_of(PATH_RUNS, FILE_NAME, path), text, strlen(text), err);
}

int promote_request_remove(struct error *err)
{
	char path[PATH_BYTES];

	return file_remove_durable(path_of(PATH_RUNS, FILE_NAME, path), err);
}
