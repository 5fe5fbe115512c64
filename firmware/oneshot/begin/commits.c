/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/commits.h"
#include "core/base/log.h"
#include "drivers/versions/versions.h"

#include <string.h>

static int find(const struct config *config, struct config_store *store, struct error *err)
{
	const struct store_options options = store_options_of(config);
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char id[VERSIONS_ID_BYTES];
	int r;

	if ((r = versions_open(store, &options, &versions, err)) < 0 ||
	    (r = versions_resolve(versions, NULL, id, err)) < 0)
		return r;
	(void)snprintf(store->at, sizeof(store->at), "%s", id);
	log_info("%s: reading commit %s", store->url, id);
	return 0;
}

/* Tells whether a store has a ref that is not fixed yet. */
static bool is_open(const struct config_store *store)
{
	struct config_lakefs parts;

	return config_lakefs(store->url, &parts) && !store->at[0];
}

int commits_find(struct config *config, bool *ret_any, struct error *err)
{
	int r = 0;

	*ret_any = false;
	for (uint32_t i = 0; r == 0 && i < config->sources; i++)
		if (is_open(&config->source[i].store)) {
			*ret_any = true;
			r = find(config, &config->source[i].store, err);
		}
	return r;
}

int commits_fix(struct run *run, const struct config *from, struct error *err)
{
	CLEANUP(json_free) cJSON *note = cJSON_CreateObject();
	int r;

	for (uint32_t i = 0; i < run->config.sources; i++)
		memcpy(run->config.source[i].store.at, from->source[i].store.at,
		       sizeof(from->source[i].store.at));
	r = run_commits_add(from, note, err);
	return r < 0 ? r : run_note_members(note, err);
}

/* Takes the commit that the series has for the url of a store. */
static void take_known(const cJSON *known, struct config_store *store)
{
	const char *commit = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(known, store->url));

	if (commit)
		(void)snprintf(store->at, sizeof(store->at), "%s", commit);
}

int commits_of_series(const cJSON *series, struct config *config, bool *ret_any, struct error *err)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (is_open(&config->source[i].store))
			take_known(cJSON_GetObjectItemCaseSensitive(series, "commits"),
				   &config->source[i].store);
	return commits_find(config, ret_any, err);
}

int commits_note(cJSON *series, struct config *config, struct error *err)
{
	cJSON *known = cJSON_GetObjectItemCaseSensitive(series, "commits");

	if (!known)
		known = cJSON_AddObjectToObject(series, "commits");
	for (uint32_t i = 0; i < config->sources; i++) {
		struct config_store *store = &config->source[i].store;

		if (!store->at[0])
			continue;
		if (cJSON_GetObjectItemCaseSensitive(known, store->url))
			take_known(known, store);
		else if (!cJSON_AddStringToObject(known, store->url, store->at))
			return error_set(err, -ENOMEM, "series.json: no memory");
	}
	return 0;
}

int commits_add(const struct config *config, cJSON *members, struct error *err)
{
	for (uint32_t i = 0; i < config->sources; i++)
		if (config->source[i].store.at[0])
			return run_commits_add(config, members, err);
	return 0;
}
