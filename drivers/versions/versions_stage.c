/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/versions_stage.h"

#include <inttypes.h>
#include <string.h>

#define NAMES_MAX     20u
#define DROP_ATTEMPTS 3u

/* Deletes what an earlier call has left. The server is asked to delete only what is there: the access key may
 * not be allowed to. */
static int delete_left(struct versions *versions, const char *name, struct error *err)
{
	char id[VERSIONS_ID_BYTES];
	int r = versions_resolve(versions, name, id, err);

	return r == -ENOENT ? 0 : r < 0 ? r : versions_branch_delete(versions, name, err);
}

/* Writes the first name that is free, or becomes so: `name`, then with -2, -3 and so on, where the access key
 * may not delete what an earlier call has left, or a hook refuses it. */
static int take_name(struct versions *versions, const char *name, char out[static CONFIG_REF_MAX + 1],
		     struct error *err)
{
	int r = 0;

	(void)snprintf(out, CONFIG_REF_MAX + 1, "%s", name);
	for (uint32_t i = 2; i <= NAMES_MAX + 1; i++) {
		r = delete_left(versions, out, err);
		if (r != -EACCES && r != -EPERM)
			break;
		(void)snprintf(out, CONFIG_REF_MAX + 1, "%s-%" PRIu32, name, i);
	}
	return r;
}

int stage_open(const struct config_store *into, const char *name, const struct store_options *options,
	       struct stage *ret_stage, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	char branch[CONFIG_REF_MAX + 1], own[CONFIG_REF_MAX + 1], head[VERSIONS_ID_BYTES];
	int r;

	*ret_stage = (struct stage){ .at = *into, .into = *into };
	if (!versions_has_branches(into))
		return 0;
	ret_stage->at.at[0] = '\0';
	if ((r = versions_open(into, options, &versions, err)) < 0 ||
	    (r = take_name(versions, name, own, err)) < 0 ||
	    (r = versions_resolve(versions, versions_branch_of(into, branch), head, err)) < 0 ||
	    (r = versions_branch(versions, own, head, NULL, err)) < 0)
		return r;
	memcpy(ret_stage->at.at, own, sizeof(own));
	return 0;
}

int stage_drop(const struct stage *stage, const struct store_options *options, struct error *err)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	struct store_options given = options ? *options : (struct store_options){ 0 };
	int r;

	if (!*stage->at.at || !versions_has_branches(&stage->at))
		return 0;
	if (given.attempts_max && given.attempts_max < DROP_ATTEMPTS)
		given.attempts_max = DROP_ATTEMPTS;
	if ((r = versions_open(&stage->into, options ? &given : NULL, &versions, err)) < 0)
		return r;
	return versions_branch_delete(versions, stage->at.at, err);
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
	return r == -ENODATA ? 0 : r;
}
