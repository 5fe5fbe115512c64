/* SPDX-License-Identifier: Apache-2.0 */
/* The repository, and the import of a prefix into a branch. */
#include "core/base/clock.h"
#include "drivers/lakefs/lakefs_call.h"
#include "drivers/lakefs/lakefs_reply.h"

#include <string.h>
#include <unistd.h>

/* pauses between two looks at an import: 0.1, 0.2 ... 3.2 s */
#define LOOK_US     100000u
#define LOOK_US_MAX 3200000u
/* An import that shows no progress for so long is given up. The API does not say how often the server notes
 * its progress, and a server that writes a large commit may be silent for minutes. */
#define STUCK_S 900u

/* ---- Repository ---- */

static int check_storage(struct lakefs *lakefs, const char *storage, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	char path[LAKEFS_PATH_BYTES];
	const char *found;
	int r;

	if ((r = LAKEFS_PATH(lakefs, path, err, NULL)) < 0 ||
	    (r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err)) < 0 ||
	    (r = json_get_string("the answer", answer.json, "storage_namespace", &found, err)) < 0)
		return r;
	return strcmp(found, storage) == 0
		       ? 0
		       : error_set(err, -EEXIST,
				   "lakefs://%s: the repository exists with the storage %s, expected %s",
				   lakefs->repository, found, storage);
}

int lakefs_repository(struct lakefs *lakefs, const char *storage, const char *branch, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	cJSON *body = cJSON_CreateObject();
	int r;

	(void)cJSON_AddStringToObject(body, "name", lakefs->repository);
	(void)cJSON_AddStringToObject(body, "storage_namespace", storage);
	(void)cJSON_AddStringToObject(body, "default_branch", branch);
	(void)cJSON_AddFalseToObject(body, "sample_data");
	(void)cJSON_AddFalseToObject(body, "read_only");
	r = lakefs_call(lakefs, HTTP_POST, "/repositories", body, &answer, err);
	return answer.status == 409 ? check_storage(lakefs, storage, err) : r;
}

/* ---- Import ---- */

static cJSON *import_body(const struct lakefs_import *import)
{
	cJSON *body = cJSON_CreateObject(), *path = cJSON_CreateObject(), *commit;

	(void)cJSON_AddItemToArray(cJSON_AddArrayToObject(body, "paths"), path);
	(void)cJSON_AddStringToObject(path, "type", "common_prefix");
	(void)cJSON_AddStringToObject(path, "path", import->from);
	(void)cJSON_AddStringToObject(path, "destination", import->to);
	commit = cJSON_AddObjectToObject(body, "commit");
	lakefs_add_commit(commit, import->message, import->metadata, false);
	(void)cJSON_AddFalseToObject(body, "force");
	return body;
}

/* Starts the import; `path` becomes the path of its state. */
static int start(struct lakefs *lakefs, const struct lakefs_import *import,
		 char path[static LAKEFS_PATH_BYTES], struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	const char *id;
	int r = LAKEFS_PATH(lakefs, path, err, "branches", import->branch, "import");

	if (r < 0 || (r = lakefs_post_once(lakefs, path, import_body(import), &answer, err)) < 0 ||
	    (r = json_get_string("the answer", answer.json, "id", &id, err)) < 0)
		return r;
	return lakefs_query(path, "id", id, err);
}

static int look(struct lakefs *lakefs, const char *path, struct lakefs_progress *ret, struct error *err)
{
	CLEANUP(lakefs_answer_done) struct lakefs_answer answer = { 0 };
	int r = lakefs_call(lakefs, HTTP_GET, path, NULL, &answer, err);

	return r < 0 ? r : lakefs_reply_import(answer.json, ret, err);
}

/* The last progress that was seen, and when it was seen first. */
struct watch {
	struct lakefs_progress last;
	uint64_t since_us;
};

static bool is_stuck(struct watch *watch, const struct lakefs_progress *progress, uint64_t now_us)
{
	if (!watch->since_us || progress->objects != watch->last.objects ||
	    strcmp(progress->updated, watch->last.updated) != 0)
		*watch = (struct watch){ *progress, now_us };
	return now_us - watch->since_us >= UINT64_C(1000000) * STUCK_S;
}

static int follow(struct lakefs *lakefs, const struct lakefs_import *import, const char *path,
		  struct lakefs_progress *ret, struct error *err)
{
	struct watch watch = { 0 };
	useconds_t pause_us = LOOK_US;
	int r;

	while ((r = look(lakefs, path, ret, err)) == 0) {
		if (import->progress)
			import->progress(import->context, ret->objects);
		if (ret->completed || ret->error[0])
			break;
		if (is_stuck(&watch, ret, clock_us()))
			return error_set(
				err, -ETIMEDOUT,
				"lakefs://%s: the import of %s into '%s' shows no progress for %u s; the "
				"server may go on with it",
				lakefs->repository, import->from, import->branch, STUCK_S);
		(void)usleep(pause_us);
		pause_us = pause_us < LOOK_US_MAX ? 2 * pause_us : LOOK_US_MAX;
	}
	return r;
}

int lakefs_import(struct lakefs *lakefs, const struct lakefs_import *import,
		  char ret_id[static LAKEFS_ID_BYTES], uint64_t *ret_objects, struct error *err)
{
	struct lakefs_progress progress = { 0 };
	char path[LAKEFS_PATH_BYTES];
	int r;

	if ((r = start(lakefs, import, path, err)) < 0 ||
	    (r = follow(lakefs, import, path, &progress, err)) < 0)
		return r;
	if (progress.error[0])
		return error_set(err, -EIO, "lakefs://%s: the import of %s into '%s' failed: %s",
				 lakefs->repository, import->from, import->branch, progress.error);
	memcpy(ret_id, progress.id, sizeof(progress.id));
	*ret_objects = progress.objects;
	return 0;
}
