/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that show, check and replace kiln.conf. A run that has begun has its own frozen copy. */
#include "core/config/config.h"
#include "controld/call/steer.h"
#include "controld/methods/methods.h"
#include "core/base/events.h"
#include "core/base/paths.h"
#include "core/config/config_held.h"

#include <string.h>

#define TEXT_MAX 131072u
#define PREVIOUS ".previous"

/* ---- Show ---- */

int method_config_show(struct call *call, struct error *err)
{
	CLEANUP(free_ptr) char *json = NULL, *text = NULL;
	const char *file = config_path(0, NULL);
	cJSON *config = NULL;
	int r = config_show_json(file, &json, err);

	if (r < 0) {
		call->code = r == -ENOENT ? CONTROL_NOT_FOUND : CONTROL_CONFIG;
		return r;
	}
	if ((r = json_parse(file, json, strlen(json), &config, err)) < 0)
		return r;
	call->result = cJSON_CreateObject();
	if (!cJSON_AddItemToObject(call->result, "config", config) ||
	    !cJSON_AddStringToObject(call->result, "file", file))
		return call_no_memory(err);
	if (!control_flag(&call->request, "text"))
		return 0;
	r = file_read(file, TEXT_MAX, &text, NULL, err);
	return r < 0                                                            ? r
	       : cJSON_AddItemToObject(call->result, "text", json_string(text)) ? 0
										: call_no_memory(err);
}

/* ---- Check ---- */

static int check(struct call *call, const char *path, struct error *err)
{
	int r = conf_check(path, err);

	if (r < 0 && r != -ENOMEM)
		call->code = CONTROL_CONFIG;
	return r;
}

int method_config_check(struct call *call, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	const char *text = control_text(&call->request, "text", NULL);
	char path[CONFIG_HELD_BYTES];
	int r;

	if (text && (fd = config_hold(text, path, err)) < 0)
		return fd;
	r = check(call, text ? path : config_path(0, NULL), err);
	if (r < 0)
		return r;
	return call_result_true(call, "good", err);
}

/* ---- Apply ---- */

#define NETWORK_APPLIES "at the next boot, or systemctl restart kiln-network systemd-networkd on the box"

/* Returns when a change of this key takes effect. */
static const char *applies(const char *key)
{
	static const struct {
		const char *keys, *when;
	} others[] = {
		{ "run.days", "now" },
		{ "run.at", "now" },
		{ "run.zone", "now" },
		{ "run.ends_at", "now" },
		{ "run.catch_up", "now" },
		{ "power.", "now" },
		{ "control.", "at the next boot, or systemctl restart kiln-controld on the box" },
		{ "clock.", "at the next boot" },
		{ "ranks.network", NETWORK_APPLIES },
		{ "ranks.trusted", NETWORK_APPLIES },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strncmp(key, others[i].keys, strlen(others[i].keys)) == 0)
			return others[i].when;
	return "next run";
}

static cJSON *values_of(const char *path)
{
	CLEANUP(free_ptr) char *text = NULL;
	cJSON *json = NULL;

	if (config_show_json(path, &text, NULL) < 0 || json_parse(path, text, strlen(text), &json, NULL) < 0)
		return cJSON_CreateObject();
	return json;
}

/* Returns whether the value of a key is the one that a file without the key has: the default, or an empty
 * list or group. */
static bool is_default(const cJSON *item)
{
	const cJSON *mark = cJSON_GetObjectItemCaseSensitive(item, "default");

	return mark ? cJSON_IsTrue(mark) : !item->child;
}

static cJSON *changes(const char *old_path, const char *new_path)
{
	CLEANUP(json_free) cJSON *old = values_of(old_path), *new = values_of(new_path);
	cJSON *list = cJSON_CreateArray();
	const cJSON *item;

	cJSON_ArrayForEach(item, new) {
		const cJSON *before = cJSON_GetObjectItemCaseSensitive(old, item->string);
		cJSON *line;

		if (before ? cJSON_Compare(before, item, true) : is_default(item))
			continue;
		line = cJSON_CreateObject();
		(void)cJSON_AddItemToObject(line, "key", json_string(item->string));
		(void)cJSON_AddStringToObject(line, "applies", applies(item->string));
		(void)cJSON_AddItemToArray(list, line);
	}
	return list;
}

/* Makes the folder of a file, which a new KILN_ROOT lacks. */
static int make_folder(const char *file, struct error *err)
{
	char folder[PATH_BYTES];
	char *slash;

	(void)snprintf(folder, sizeof(folder), "%s", file);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	return access(folder, F_OK) == 0 ? 0 : path_make(folder, err);
}

/* Writes three files, each whole or not at all: the old text as kiln.conf.previous; the new text as the last
 * good one, for programs that later find a mistake in kiln.conf; then kiln.conf itself. A crash in between
 * leaves the old kiln.conf. */
static int replace(const char *file, const char *text, cJSON *result, struct error *err)
{
	CLEANUP(free_ptr) char *old = NULL;
	char previous[PATH_BYTES], good[PATH_BYTES];
	uint64_t bytes;
	int r = make_folder(file, err);

	if (r == 0)
		r = file_read(file, TEXT_MAX * 8u, &old, &bytes, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0) {
		(void)snprintf(previous, sizeof(previous), "%s" PREVIOUS, file);
		if ((r = file_write_durable(previous, old, bytes, err)) < 0)
			return r;
		(void)cJSON_AddItemToObject(result, "previous", json_string(previous));
	} else {
		(void)cJSON_AddNullToObject(result, "previous");
	}
	(void)snprintf(good, sizeof(good), "%.4000s" CONFIG_GOOD_SUFFIX, file);
	r = file_write_durable(good, text, strlen(text), err);
	return r < 0 ? r : file_write_durable(file, text, strlen(text), err);
}

/* Adds to the answer whether systemd generated Kiln's units anew (steer_done_fn). A failure does not fail the
 * method, because kiln.conf is replaced already. */
static int reloaded(struct call *call, int r, struct error *err)
{
	(void)cJSON_AddBoolToObject(call->result, "reloaded", r == 0);
	if (r < 0)
		(void)cJSON_AddItemToObject(call->result, "reload_error", json_string(err->text));
	return 0;
}

static void say_applied(const char *file, const cJSON *changed)
{
	char keys[512] = "";
	const cJSON *line;

	cJSON_ArrayForEach(line, changed) {
		const cJSON *key = cJSON_GetObjectItemCaseSensitive(line, "key");
		size_t used = strlen(keys);

		(void)snprintf(keys + used, sizeof(keys) - used, " %s", cJSON_GetStringValue(key));
	}
	event_send(
		&(struct event){ .id = EVENT_CONFIG_APPLIED, .count = (uint64_t)cJSON_GetArraySize(changed) },
		"%s: replaced; changed:%s", file, *keys ? keys : " nothing");
}

int method_config_apply(struct call *call, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	const char *file = config_path(0, NULL), *text = control_text(&call->request, "text", "");
	cJSON *changed;
	char path[CONFIG_HELD_BYTES];
	int r;

	if ((fd = config_hold(text, path, err)) < 0)
		return fd;
	if ((r = check(call, path, err)) < 0) {
		event_send(&(struct event){ .id = EVENT_CONFIG_REFUSED }, "%s: not replaced: %s", file,
			   err->text);
		return r;
	}
	call->result = cJSON_CreateObject();
	changed = changes(file, path);
	if (!cJSON_AddItemToObject(call->result, "changed", changed))
		return call_no_memory(err);
	if ((r = replace(file, text, call->result, err)) < 0)
		return r;
	say_applied(file, changed);
	if (!changed->child) {
		(void)cJSON_AddTrueToObject(call->result, "reloaded");
		return 0;
	}
	r = steer_say(call, "config.reload", reloaded, err);
	return r < 0 ? reloaded(call, r, err) : r;
}
