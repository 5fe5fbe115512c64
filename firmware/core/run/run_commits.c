/* SPDX-License-Identifier: Apache-2.0 */
/* The member "commits" of run.json. */
#include "core/run/run_record.h"

#include <string.h>

#define COMMITS "commits"

static bool is_commit(const char *text)
{
	return text && strlen(text) <= CONFIG_REF_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == strlen(text);
}

/* Checks the list: one text for each source, "" where the source has no commits. */
static int check(const char *what, const cJSON *list, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > (int)CONFIG_SOURCES_MAX)
		return error_set(err, -EBADMSG, "%s: " COMMITS ": expected a list of at most %u ids", what,
				 CONFIG_SOURCES_MAX);
	cJSON_ArrayForEach(item, list)
		if (!is_commit(cJSON_GetStringValue(item)))
			return error_set(err, -EBADMSG,
					 "%s: " COMMITS ": found an item that is no id of a commit", what);
	return 0;
}

int run_commits_use(const char *what, const cJSON *record, uint32_t source, struct config_store *store,
		    struct error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(record, COMMITS);
	const char *commit;
	int r = list ? check(what, list, err) : 0;

	if (r < 0)
		return r;
	commit = cJSON_GetStringValue(cJSON_GetArrayItem(list, (int)source));
	(void)snprintf(store->at, sizeof(store->at), "%s", commit ? commit : "");
	return 0;
}

int record_copy_commits(const cJSON *old, cJSON *record, struct error *err)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(old, COMMITS);
	int r = list ? check("run.json", list, err) : 0;

	if (r == 0 && list && !cJSON_AddItemToObject(record, COMMITS, cJSON_Duplicate(list, true)))
		r = error_set(err, -ENOMEM, "run.json: no memory");
	return r;
}

int run_commits_add(const struct config *config, cJSON *members, struct error *err)
{
	cJSON *list = cJSON_AddArrayToObject(members, COMMITS);

	for (uint32_t i = 0; i < config->sources; i++)
		if (!cJSON_AddItemToArray(list, cJSON_CreateString(config->source[i].store.at)))
			return error_set(err, -ENOMEM, "run.json: no memory");
	return 0;
}
