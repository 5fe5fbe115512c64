/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/merge_commit.h"

#include "core/base/log.h"
#include "drivers/versions/versions_run.h"

int merge_later(int r, struct error *err)
{
	if (r != -EAGAIN && r != -EUCLEAN)
		return r;
	err->code = -EBUSY;
	return -EBUSY;
}

int merge_versions(const struct config *config, struct versions **ret_versions, struct error *err)
{
	const struct store_options options = store_options_of(config);

	return versions_sink_open(config, &options, ret_versions, err);
}

cJSON *merge_metadata(const char *what, const char *text, const char *run_id, const char *series)
{
	CLEANUP(json_free) cJSON *metadata = cJSON_CreateObject();

	return cJSON_AddStringToObject(metadata, what, text) &&
			       (!*run_id || cJSON_AddStringToObject(metadata, "kiln.promoted", run_id)) &&
			       (!*series || cJSON_AddStringToObject(metadata, "kiln.promoted_series", series))
		       ? TAKE(metadata)
		       : NULL;
}

int merge_commit(struct versions *versions, const char *branch, const char *message, const cJSON *metadata,
		 char ret_id[static VERSIONS_ID_BYTES], struct error *err)
{
	int r = versions_commit(versions, branch, message, metadata, false, ret_id, err);

	if (r == -ENODATA)
		r = versions_resolve(versions, branch, ret_id, err);
	return merge_later(r, err);
}
