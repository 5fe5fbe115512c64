/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/update.h"
#include "core/base/log.h"
#include "core/box/update.h"
#include "drivers/rauc/rauc.h"

/* Reads how far RAUC is. False: RAUC does not install now, or does not answer. */
static bool ask_rauc(struct rauc_progress *progress)
{
	CLEANUP(rauc_closep) struct rauc *rauc = NULL;
	struct error err;

	if (rauc_open(&rauc, &err) == 0 && rauc_look(rauc, progress, &err) == 0)
		return progress->busy;
	log_debug("%s", err.text);
	return false;
}

cJSON *update_object(void)
{
	struct rauc_progress progress;
	struct update update;
	struct error err;
	cJSON *object;

	if (update_load(&update, &err) < 0)
		return cJSON_CreateNull();
	object = cJSON_CreateObject();
	(void)cJSON_AddStringToObject(object, "state", update_state_name(update.state));
	if (update.state == UPDATE_INSTALLING && ask_rauc(&progress)) {
		(void)cJSON_AddItemToObject(object, "text", json_string(progress.text));
		(void)json_add_u64(object, "percent", progress.percent);
	} else {
		(void)cJSON_AddItemToObject(object, "text", json_string(update.text));
		if (update.state == UPDATE_FETCHING && update.bytes > 0)
			(void)json_add_u64(object, "percent", 100 * update.bytes_done / update.bytes);
		else
			(void)cJSON_AddNullToObject(object, "percent");
	}
	(void)cJSON_AddItemToObject(object, "version", json_string(update.version));
	(void)cJSON_AddItemToObject(object, "url", json_string(update.url));
	(void)json_add_u64(object, "started_s", update.started_s);
	return object;
}
