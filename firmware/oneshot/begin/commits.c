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

int commits_find(struct config *config, bool *ret_any, struct error *err)
{
	int r = 0;

	*ret_any = false;
	for (uint32_t i = 0; r == 0 && i < config->sources; i++) {
		struct config_store *store = &config->source[i].store;
		struct config_lakefs parts;

		if (!config_lakefs(store->url, &parts) || store->at[0])
			continue;
		*ret_any = true;
		r = find(config, store, err);
	}
	return r;
}

int commits_fix(struct run *run, const struct config *from, struct error *err)
{
	for (uint32_t i = 0; i < run->config.sources; i++)
		memcpy(run->config.source[i].store.at, from->source[i].store.at,
		       sizeof(from->source[i].store.at));
	return run_commits_note(from, err);
}
