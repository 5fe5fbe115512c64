/* SPDX-License-Identifier: Apache-2.0 */
/* An update: the wish goes into a note (core/box/update.h), a word to kiln-steer starts who obeys it, and
 * RAUC says how far it is. */
#include "core/box/update.h"
#include "controld/controld.h"
#include "core/base/log.h"
#include "drivers/manager/manager.h"
#include "drivers/rauc/rauc.h"

#include <string.h>

/* What kiln-oneshot update-fetch opens; its credential is in no URL. */
static int check_url(struct call *call, const char *url, struct error *err)
{
	bool known = strncmp(url, "s3://", 5) == 0 || strncmp(url, "file:///", 8) == 0;

	for (const char *c = url; *c; c++)
		known &= (unsigned char)*c >= 0x20 && *c != 0x7f;
	if (known && !strstr(url, "/../") && url[strlen(url) - 1] != '/')
		return 0;
	call->code = CONTROL_PARAMS;
	return error_set(err, -EINVAL, "url: found \"%.200s\", expected s3://BUCKET/KEY or file:///PATH",
			 url);
}

/* Without the unit nobody takes the note up. */
static int started(struct call *call, int r, struct error *err)
{
	struct update update;
	struct error note_err;

	call->server->update_said = false;
	if (r < 0 && r != -ETIMEDOUT && update_load(&update, &note_err) == 0) {
		update.state = UPDATE_FAILED;
		(void)snprintf(update.text, sizeof(update.text), "%.1000s", err->text);
		if (update_save(&update, &note_err) < 0)
			log_warning("%s", note_err.text);
	}
	return r;
}

/* The note alone is not believed: whoever was to obey it may never have come, or be gone. */
static bool is_at_work(const struct server *server, const struct update *update)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	struct error err;
	bool busy;

	if (server->update_said || update->state == UPDATE_RESTARTING || !update_goes_on(update))
		return update_goes_on(update);
	if (manager_open(&manager, &err) < 0 || manager_update_is_busy(manager, &busy, &err) < 0) {
		log_debug("%s", err.text);
		return true;
	}
	return busy;
}

int method_update_install(struct call *call, struct error *err)
{
	struct update update, last;
	const char *url = control_text(&call->request, "url", "");
	struct timespec now;
	int r = check_url(call, url, err);

	if (r < 0)
		return r;
	if (update_load(&last, err) == 0 && is_at_work(call->server, &last)) {
		call->code = CONTROL_STATE;
		return error_set(err, -EBUSY, "an update is %s already: %s", update_state_name(last.state),
				 last.url);
	}
	(void)clock_gettime(CLOCK_REALTIME, &now);
	update = (struct update){ .state = UPDATE_ASKED,
				  .restart = control_flag(&call->request, "restart"),
				  .started_s = (uint64_t)now.tv_sec };
	(void)snprintf(update.url, sizeof(update.url), "%s", url);
	if ((r = update_save(&update, err)) < 0)
		return r;
	call->result = cJSON_CreateObject();
	if (!cJSON_AddTrueToObject(call->result, "started"))
		return error_set(err, -ENOMEM, "no memory");
	call->server->update_said = true;
	r = steer_say(call, "update.install", started, err);
	return r < 0 ? started(call, r, err) : r;
}

/* False: RAUC is not at work, or cannot be asked. */
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
