/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/update.h"

#include "core/base/json.h"
#include "core/base/paths.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#define NOTE_MAX 8192u

static const char *const names[] = { "asked",     "fetching",   "waiting", "installing",
				     "installed", "restarting", "failed" };
static_assert(sizeof(names) / sizeof(names[0]) == UPDATE_STATE_MAX, "every state has its name");

const char *update_state_name(enum update_state state)
{
	return names[state];
}

bool update_goes_on(const struct update *update)
{
	return update->state != UPDATE_FAILED;
}

char *update_part_path(char out[static PATH_BYTES])
{
	const size_t used = strlen(path_of(PATH_BUNDLE, NULL, out));

	(void)snprintf(out + used, PATH_BYTES - used, ".tmp");
	return out;
}

void update_discard(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_BUNDLE, NULL, path));
	(void)unlink(update_part_path(path));
}

static int state_of(const char *path, const char *name, enum update_state *ret_state, struct error *err)
{
	for (int i = 0; i < UPDATE_STATE_MAX; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret_state = (enum update_state)i;
			return 0;
		}
	return error_set(err, -EBADMSG, "%s: found state \"%.40s\"", path, name);
}

int update_load(struct update *ret_update, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	const char *state, *url, *text, *version;
	char path[PATH_BYTES];
	int r = json_read(path_of(PATH_UPDATE_NOTE, NULL, path), NOTE_MAX, &json, err);

	*ret_update = (struct update){ 0 };
	if (r < 0 || (r = json_get_string(path, json, "state", &state, err)) < 0 ||
	    (r = json_get_string(path, json, "url", &url, err)) < 0 ||
	    (r = json_get_string(path, json, "text", &text, err)) < 0 ||
	    (r = json_get_u64(path, json, "started_s", &ret_update->started_s, err)) < 0 ||
	    (r = json_get_u64(path, json, "bytes", &ret_update->bytes, err)) < 0 ||
	    (r = json_get_u64(path, json, "bytes_done", &ret_update->bytes_done, err)) < 0 ||
	    (r = state_of(path, state, &ret_update->state, err)) < 0)
		return r;
	ret_update->restart = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "restart"));
	version = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "version"));
	(void)snprintf(ret_update->version, sizeof(ret_update->version), "%s", version ? version : "");
	(void)snprintf(ret_update->url, sizeof(ret_update->url), "%s", url);
	(void)snprintf(ret_update->text, sizeof(ret_update->text), "%s", text);
	return 0;
}

int update_save(const struct update *update, struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *line = NULL;
	char path[PATH_BYTES];
	int r;

	(void)cJSON_AddStringToObject(json, "state", names[update->state]);
	(void)cJSON_AddItemToObject(json, "url", json_string(update->url));
	(void)cJSON_AddItemToObject(json, "version", json_string(update->version));
	(void)cJSON_AddItemToObject(json, "text", json_string(update->text));
	(void)cJSON_AddBoolToObject(json, "restart", update->restart);
	(void)json_add_u64(json, "started_s", update->started_s);
	(void)json_add_u64(json, "bytes", update->bytes);
	(void)json_add_u64(json, "bytes_done", update->bytes_done);
	r = json_print_line(json, &line, err);
	return r < 0 ? r : file_write_durable(path_of(PATH_UPDATE_NOTE, NULL, path), line, strlen(line), err);
}
