/* SPDX-License-Identifier: Apache-2.0 */
#include "core/tonight.h"

#include "core/json.h"
#include "core/paths.h"

#include <string.h>
#include <time.h>

#define FILE_NAME  "tonight.json"
#define FILE_BYTES 65536u

static char *path_of_file(char out[static PATH_BYTES])
{
	return path_of(PATH_RUNS, FILE_NAME, out);
}

static int put(const struct tonight *tonight, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES];
	int r;

	if (!json_add_u64(object, "from_s", (uint64_t)tonight->from_s) ||
	    !cJSON_AddStringToObject(object, "by", tonight->by_timer ? "timer" : "hand") ||
	    !cJSON_AddStringToObject(object, "run", tonight->run_id) ||
	    !cJSON_AddItemToObject(object, "reason", json_string(tonight->reason)))
		return error_set(err, -ENOMEM, FILE_NAME ": no memory");
	r = json_print_line(object, &text, err);
	if (r < 0 || (r = path_make(path_of(PATH_RUNS, NULL, folder), err)) < 0)
		return r;
	return file_write_durable(path_of_file(path), text, strlen(text), err);
}

int tonight_begin(bool by_timer, struct error *err)
{
	struct tonight tonight = { .from_s = time(NULL), .by_timer = by_timer };
	CLEANUP(run_done) struct run run = { 0 };
	struct tonight before;

	if (!by_timer && tonight_get(&before, NULL) == 0) {
		tonight.from_s = before.from_s;
		memcpy(tonight.run_id, before.run_id, sizeof(tonight.run_id));
	}
	if (!*tonight.run_id && run_load(&run, NULL) == 0 && !run_state_is_final(run.state))
		(void)snprintf(tonight.run_id, sizeof(tonight.run_id), "%s", run.id);
	return put(&tonight, err);
}

int tonight_get(struct tonight *ret_tonight, struct error *err)
{
	CLEANUP(json_free) cJSON *object = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	const char *by, *run_id, *reason;
	struct tonight tonight = { 0 };
	char path[PATH_BYTES];
	uint64_t bytes, from_s;
	int r = file_read(path_of_file(path), FILE_BYTES, &text, &bytes, err);

	if (r < 0 || (r = json_parse(path, text, bytes, &object, err)) < 0 ||
	    (r = json_get_u64(path, object, "from_s", &from_s, err)) < 0 ||
	    (r = json_get_string(path, object, "by", &by, err)) < 0 ||
	    (r = json_get_string(path, object, "run", &run_id, err)) < 0 ||
	    (r = json_get_string(path, object, "reason", &reason, err)) < 0)
		return r;
	tonight.from_s = (int64_t)from_s;
	tonight.by_timer = strcmp(by, "timer") == 0;
	(void)snprintf(tonight.run_id, sizeof(tonight.run_id), "%s", run_id);
	(void)snprintf(tonight.reason, sizeof(tonight.reason), "%s", reason);
	*ret_tonight = tonight;
	return 0;
}

bool tonight_has(const struct tonight *tonight, const struct run *run)
{
	return run->started_s >= tonight->from_s || strcmp(run->id, tonight->run_id) == 0;
}

int tonight_say(const char *reason, struct error *err)
{
	struct tonight tonight = { .from_s = time(NULL) };

	(void)!tonight_get(&tonight, NULL);
	(void)snprintf(tonight.reason, sizeof(tonight.reason), "%s", reason);
	return put(&tonight, err);
}

void tonight_over(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of_file(path));
}
