/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/versions/backend.h"

#include <stdio.h>

bool versions_has_branches(const struct config_store *where)
{
	struct config_lakefs parts;

	return config_lakefs(where->url, &parts);
}

const char *versions_branch_of(const struct config_store *where, char out[static CONFIG_REF_MAX + 1])
{
	struct config_lakefs parts;

	(void)config_lakefs(where->url, &parts);
	(void)snprintf(out, CONFIG_REF_MAX + 1, "%s", parts.ref[0] && where->at[0] ? where->at : parts.ref);
	return out;
}

int versions_open(const struct config_store *where, const struct store_options *options,
		  struct versions **ret_versions, struct error *err)
{
	int r = config_store_check(where, err);

	if (r < 0)
		return r;
	return versions_has_branches(where) ? versions_lakefs_open(where, options, ret_versions, err)
					    : versions_plain_open(where, options, ret_versions, err);
}

void versions_close(struct versions *versions)
{
	if (versions)
		versions->ops->close(versions);
}

void versions_closep(struct versions **versions)
{
	versions_close(*versions);
}

int versions_resolve(struct versions *versions, const char *ref, char ret_id[static VERSIONS_ID_BYTES],
		     struct error *err)
{
	return versions->ops->resolve(versions, ref, ret_id, err);
}

int versions_head(struct versions *versions, const char *branch, char ret_id[static VERSIONS_ID_BYTES],
		  struct error *err)
{
	return versions->ops->head(versions, branch, ret_id, err);
}

int versions_find_commit(struct versions *versions, const char *branch, const cJSON *metadata,
			 char ret_id[static VERSIONS_ID_BYTES], struct error *err)
{
	return versions->ops->find_commit(versions, branch, metadata, ret_id, err);
}

int versions_branch(struct versions *versions, const char *branch, const char *commit, const cJSON *mine,
		    struct error *err)
{
	return versions->ops->branch(versions, branch, commit, mine, err);
}

int versions_branch_new(struct versions *versions, const char *branch, const char *commit, struct error *err)
{
	return versions->ops->branch_new(versions, branch, commit, err);
}

int versions_branches(struct versions *versions, const char *prefix,
		      int (*each)(void *context, const char *branch), void *context, struct error *err)
{
	return versions->ops->branches(versions, prefix, each, context, err);
}

int versions_branch_delete(struct versions *versions, const char *branch, struct error *err)
{
	return versions->ops->branch_delete(versions, branch, err);
}

int versions_commit(struct versions *versions, const char *branch, const char *message, const cJSON *metadata,
		    bool empty, char ret_id[static VERSIONS_ID_BYTES], struct error *err)
{
	return versions->ops->commit(versions, branch, message, metadata, empty, ret_id, err);
}

int versions_merge(struct versions *versions, const char *from, const char *into, const char *message,
		   const cJSON *metadata, bool from_wins, char ret_id[static VERSIONS_ID_BYTES],
		   struct error *err)
{
	return versions->ops->merge(versions, from, into, message, metadata, from_wins, ret_id, err);
}

int versions_tag(struct versions *versions, const char *tag, const char *commit, struct error *err)
{
	return versions->ops->tag(versions, tag, commit, err);
}

int versions_diff(struct versions *versions, const char *left, const char *right,
		  int (*each)(void *context, enum versions_change change, const char *path, uint64_t bytes),
		  void *context, struct error *err)
{
	return versions->ops->diff(versions, left, right, each, context, err);
}

int versions_create(struct versions *versions, const char *storage, struct error *err)
{
	return versions->ops->create(versions, storage, err);
}

int versions_import(struct versions *versions, const struct versions_import *import,
		    char ret_id[static VERSIONS_ID_BYTES], uint64_t *ret_objects, struct error *err)
{
	return versions->ops->import(versions, import, ret_id, ret_objects, err);
}
