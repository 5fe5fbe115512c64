/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/box_stores.h"
#include "core/base/json.h"
#include "oneshot/begin/stored_record.h"

#include <string.h>

/* ---- Telling them apart ---- */

static const char *value_of(const struct config_store *store, const char *key)
{
	if (strcmp(key, "url") == 0)
		return store->url;
	if (strcmp(key, "endpoint") == 0)
		return store->endpoint;
	if (strcmp(key, "region") == 0)
		return store->region;
	return strcmp(key, "credential") == 0 ? store->credential : store->ca_file;
}

static int check_store(const char *name, const struct config_store *record, const struct config_store *box,
		       struct error *err)
{
	const char *key = config_server_differs(record, box);

	if (!key && strcmp(record->url, box->url) != 0)
		key = "url";
	return key ? error_set(err, -EPERM, "%s.%s is \"%.200s\" in the record and \"%.200s\" in kiln.conf",
			       name, key, value_of(record, key), value_of(box, key))
		   : 0;
}

static int check_count(const struct config *record, const struct config *box, struct error *err)
{
	return record->sources == box->sources
		       ? 0
		       : error_set(err, -EPERM, "the record has %u sources, kiln.conf has %u",
				   record->sources, box->sources);
}

/* Returns whether a part of the path is "..", which leads out of the folder before it. */
static bool goes_up(const char *url)
{
	const char *part = url;

	while ((part = strstr(part, "/..")) && part[3] != '/' && part[3] != '\0')
		part++;
	return part != NULL;
}

static bool is_below(const char *url, const struct config_store *store)
{
	const size_t length = strlen(store->url);

	return !goes_up(url) && strncmp(url, store->url, length) == 0 &&
	       (url[length] == '/' || (length > 0 && store->url[length - 1] == '/'));
}

/* Checks that model.weights names a file of the sink, or one below a store of kiln.conf, or the same as
 * kiln.conf: any other URL is a place of which the box asks nothing, or a file of this machine. */
static int check_weights(const struct config *record, const struct config *box, struct error *err)
{
	const char *name = record->model.weights;
	bool known =
		!strstr(name, "://") || strcmp(name, box->model.weights) == 0 || is_below(name, &box->sink);

	for (uint32_t i = 0; i < box->sources; i++)
		known |= is_below(name, &box->source[i].store);
	return known ? 0
		     : error_set(
			       err, -EPERM,
			       "model.weights is \"%.200s\" in the record, which is in no store of kiln.conf",
			       name);
}

int box_stores_check(const struct config *record, const struct config *box, struct error *err)
{
	char name[32];
	int r;

	if ((r = check_store("sink", &record->sink, &box->sink, err)) < 0 ||
	    (r = check_count(record, box, err)) < 0 || (r = check_weights(record, box, err)) < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < record->sources; i++) {
		(void)snprintf(name, sizeof(name), record->sources == 1 ? "source" : "sources[%u]", i);
		r = check_store(name, &record->source[i].store, &box->source[i].store, err);
	}
	return r;
}

/* ---- Replacing them ---- */

static void take_stores(struct config *record, const struct config *box)
{
	record->sink = box->sink;
	record->branches = box->branches;
	record->notify = box->notify;
	record->heat = box->heat;
	record->power = box->power;
	record->update = box->update;
	record->control = box->control;
	record->clock = box->clock;
	for (uint32_t i = 0; i < record->sources; i++)
		record->source[i].store = box->source[i].store;
}

/* Writes the text of the record's configuration with the stores of `box`; NULL: it has them already. */
static int print_replaced(const struct config *box, struct config *record, char **ret_text, struct error *err)
{
	CLEANUP(free_ptr) char *before = NULL, *after = NULL;
	int r;

	if ((r = check_count(record, box, err)) < 0 || (r = check_weights(record, box, err)) < 0 ||
	    (r = config_print(record, &before, err)) < 0)
		return r;
	take_stores(record, box);
	if ((r = config_print(record, &after, err)) == 0 && strcmp(before, after) != 0)
		*ret_text = TAKE(after);
	return r;
}

int box_stores_put(const struct config *box, const char *what, const char *text, uint64_t bytes,
		   char **ret_text, struct error *err)
{
	CLEANUP(config_done) struct config record = { 0 };
	CLEANUP(free_ptr) char *replaced = NULL;
	CLEANUP(json_free) cJSON *json = NULL;
	int r;

	if ((r = stored_record_config(what, text, bytes, &record, err)) < 0 ||
	    (r = print_replaced(box, &record, &replaced, err)) < 0 ||
	    (r = json_parse(what, text, bytes, &json, err)) < 0)
		return r;
	if (replaced) {
		cJSON_DeleteItemFromObjectCaseSensitive(json, "config");
		if (!cJSON_AddStringToObject(json, "config", replaced))
			return error_set(err, -ENOMEM, "%s: no memory", what);
	}
	return json_print(json, ret_text, err);
}
