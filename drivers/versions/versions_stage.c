/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions_stage.h"

#include "core/base/log.h"

/* Deletes what an earlier call has left. The server is asked to delete only what is there: the access key may
 * not be allowed to. */
static int delete_left(struct versions *versions, const char *name, struct error *err)
{
	char id[VERSIONS_ID_BYTES];
	int r = versions_resolve(versions, name, id, err);

	return r == -ENOENT ? 0 : r < 0 ? r : versions_branch_delete(versions, name, err);
}

int stage_open(const struct config_store *into, const char *name, const struct store_options *options,
	       struct stage *ret_stage, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1], head[VERSIONS_ID_BYTES];
	int r;

	*ret_stage = (struct stage){ .at = *into, .into = *into };
	if (!versions_has_branches(into))
		return 0;
	(void)snprintf(ret_stage->at.at, sizeof(ret_stage->at.at), "%s", name);
	if ((r = versions_open(into, options, &versions, err)) < 0 ||
	    (r = delete_left(versions, name, err)) < 0 ||
	    (r = versions_resolve(versions, versions_branch_of(into, branch), head, err)) < 0)
		return r;
	return versions_branch(versions, name, head, NULL, err);
}

void stage_drop(const struct stage *stage, const struct store_options *options)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	struct error err;

	if (!versions_has_branches(&stage->at))
		return;
	if (versions_open(&stage->into, options, &versions, &err) < 0 ||
	    versions_branch_delete(versions, stage->at.at, &err) < 0)
		log_debug("%s", err.text);
}

int stage_merge(const struct stage *stage, const char *message, const cJSON *metadata,
		const struct store_options *options, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char into[CONFIG_REF_MAX + 1], id[VERSIONS_ID_BYTES];
	int r;

	if (!versions_has_branches(&stage->at))
		return 0;
	r = versions_open(&stage->into, options, &versions, err);
	if (r == 0)
		r = versions_commit(versions, stage->at.at, message, metadata, false, id, err);
	if (r == 0)
		r = versions_merge(versions, stage->at.at, versions_branch_of(&stage->into, into), message,
				   metadata, false, id, err);
	stage_drop(stage, options);
	return r == -ENODATA ? 0 : r;
}
