/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/overrides.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/series/trials.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OVERRIDES_BYTES_MAX 65536u

/* ---- next.json and run.json ---- */

int overrides_adopt(char ret_id[static RUN_ID_BYTES], struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	const char *id = "";
	int r = json_read(path_of(PATH_RUNS, "next.json", path), OVERRIDES_BYTES_MAX, &json, err);

	*ret_id = '\0';
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (cJSON_HasObjectItem(json, "adopt") && (r = json_get_string(path, json, "adopt", &id, err)) < 0)
		return r;
	(void)snprintf(ret_id, RUN_ID_BYTES, "%s", id);
	return 0;
}

int overrides_asked(cJSON **ret_list, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	char path[PATH_BYTES];
	int r = json_read(path_of(PATH_RUNS, "next.json", path), OVERRIDES_BYTES_MAX, &json, err);

	if (r == 0)
		*ret_list = cJSON_DetachItemFromObjectCaseSensitive(json, "overrides");
	return r == -ENOENT ? 0 : r;
}

int overrides_of_run(cJSON **ret_list, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	int r = run_record(&record, err);

	if (r == 0)
		*ret_list = cJSON_DetachItemFromObjectCaseSensitive(record, "overrides");
	return r;
}

/* ---- The configuration with overrides ---- */

static int print(const char *file, const struct config *config, char **ret_text, struct error *err)
{
	return config_print(config, ret_text, err) < 0 ? error_prefix(err, "%s", file) : 0;
}

int overrides_print(const char *file, const cJSON *list, char **ret_text, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = trials_config(file, list, &config, err);

	return r < 0 ? r : print(file, &config, ret_text, err);
}

int overrides_apply(const char *file, const cJSON *list, char path[static PATH_BYTES], const char **ret_file,
		    struct config *ret_config, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	int r = list ? trials_config(file, list, &config, err) : config_load(file, &config, err);

	*ret_file = file;
	if (r == 0 && list) {
		log_notice("%s, with values for this run alone", file);
		*ret_file = path_of(PATH_SLOT, "next.conf", path);
		if ((r = print(file, &config, &text, err)) == 0)
			r = file_write_durable(path, text, strlen(text), err);
	}
	if (r < 0)
		return r;
	*ret_config = config;
	config.memory = NULL;
	return 0;
}

int overrides_done(const cJSON *list, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	char path[PATH_BYTES];
	int r = 0;

	if (list && !cJSON_AddItemToObject(note, "overrides", cJSON_Duplicate(list, true)))
		r = error_set(err, -ENOMEM, "run.json: no memory");
	if (r == 0 && list)
		r = run_note_members(note, err);
	if (r < 0)
		return r;
	(void)unlink(path_of(PATH_RUNS, "next.json", path));
	(void)unlink(path_of(PATH_SLOT, "next.conf", path));
	return 0;
}
