/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/stored_record.h"
#include "core/base/json.h"
#include "core/base/paths.h"

#include <string.h>

int stored_record_get(struct store *sink, const char *id, struct run *ret_run, char **ret_text,
		      uint64_t *ret_bytes, struct error *err)
{
	char key[STORE_KEY_MAX];
	int r;

	(void)snprintf(key, sizeof(key), "%s/run.json", id);
	if ((r = store_get_all(sink, key, RUN_JSON_MAX, ret_text, ret_bytes, err)) < 0 ||
	    (r = run_parse(key, *ret_text, *ret_bytes, ret_run, err)) < 0)
		return r;
	if (strcmp(ret_run->id, id) != 0)
		return error_set(err, -EBADMSG, "%s: found id \"%.100s\"", key, ret_run->id);
	return run_check_room(key, *ret_text, *ret_bytes, err);
}

int stored_record_put(struct store *sink, const char *run_id, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	int r = run_json(&text, err);

	(void)snprintf(key, sizeof(key), "%s/run.json", run_id);
	return r < 0 ? r : store_put_checked(sink, key, text, strlen(text), NULL, err);
}

int stored_record_config(const char *file, const char *text, uint64_t bytes, struct config *ret_config,
			 struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES];
	const char *config;
	int r;

	(void)path_of(PATH_SLOT, "next.conf", path);
	if ((r = json_parse(file, text, bytes, &record, err)) < 0 ||
	    (r = json_get_string(file, record, "config", &config, err)) < 0 ||
	    (r = path_make(path_of(PATH_SLOT, NULL, folder), err)) < 0 ||
	    (r = file_write_durable(path, config, strlen(config), err)) < 0)
		return r;
	r = config_load(path, ret_config, err);
	(void)unlink(path);
	return r;
}

int stored_record_is_anothers(const struct run *run, struct error *err)
{
	char mine[MACHINE_ID_BYTES];
	int r = machine_id_read(mine, err);

	if (r < 0 || !*mine || !*run->machine)
		return r;
	r = run_is_ours(run, err);
	return r < 0 ? r : !r;
}
