/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/lakefs/lakefs.h"
#include "drivers/versions/backend.h"

#include <assert.h>
#include <string.h>

static_assert(VERSIONS_ID_BYTES == LAKEFS_ID_BYTES, "an id of lakeFS is an id of a version");

/* `versions` must be the first member, because of_lakefs() casts. */
struct of_lakefs {
	struct versions versions;
	struct lakefs *lakefs;
	char ref[CONFIG_REF_MAX + 1], prefix[CONFIG_PREFIX_MAX + 2];
};

static struct of_lakefs *of_lakefs(struct versions *versions)
{
	return (struct of_lakefs *)versions;
}

static void close_lakefs(struct versions *versions)
{
	lakefs_close(of_lakefs(versions)->lakefs);
	free(versions);
}

static int resolve(struct versions *versions, const char *ref, char *ret_id, struct error *err)
{
	struct of_lakefs *own = of_lakefs(versions);

	return lakefs_resolve(own->lakefs, ref ? ref : own->ref, ret_id, err);
}

static int head(struct versions *versions, const char *branch, char *ret_id, struct error *err)
{
	return lakefs_head(of_lakefs(versions)->lakefs, branch, ret_id, err);
}

static int find_commit(struct versions *versions, const char *branch, const cJSON *metadata, char *ret_id,
		       struct error *err)
{
	return lakefs_find_commit(of_lakefs(versions)->lakefs, branch, metadata, ret_id, err);
}

static int branch(struct versions *versions, const char *name, const char *commit, const cJSON *mine,
		  struct error *err)
{
	return lakefs_branch(of_lakefs(versions)->lakefs, name, commit, mine, err);
}

static int branch_new(struct versions *versions, const char *name, const char *commit, struct error *err)
{
	return lakefs_branch_new(of_lakefs(versions)->lakefs, name, commit, err);
}

static int branches(struct versions *versions, const char *prefix,
		    int (*each)(void *context, const char *branch), void *context, struct error *err)
{
	return lakefs_branches(of_lakefs(versions)->lakefs, prefix, each, context, err);
}

static int branch_delete(struct versions *versions, const char *name, struct error *err)
{
	return lakefs_branch_delete(of_lakefs(versions)->lakefs, name, err);
}

static int commit(struct versions *versions, const char *name, const char *message, const cJSON *metadata,
		  bool empty, char *ret_id, struct error *err)
{
	struct lakefs *lakefs = of_lakefs(versions)->lakefs;

	return empty ? lakefs_commit_empty(lakefs, name, message, metadata, ret_id, err)
		     : lakefs_commit(lakefs, name, message, metadata, ret_id, err);
}

static int merge(struct versions *versions, const char *from, const char *into, const char *message,
		 const cJSON *metadata, bool from_wins, char *ret_id, struct error *err)
{
	return lakefs_merge(of_lakefs(versions)->lakefs, from, into, message, metadata, from_wins, ret_id,
			    err);
}

static int tag(struct versions *versions, const char *name, const char *id, struct error *err)
{
	return lakefs_tag(of_lakefs(versions)->lakefs, name, id, err);
}

/* ---- Differences ---- */

struct passing {
	int (*each)(void *context, enum versions_change change, const char *path, uint64_t bytes);
	void *context;
};

static int pass(void *context, const struct lakefs_difference *difference)
{
	const struct passing *passing = context;

	for (enum versions_change change = 0; change < VERSIONS_CHANGE_MAX; change++)
		if (strcmp(versions_change_name(change), difference->type) == 0)
			return passing->each(passing->context, change, difference->path, difference->bytes);
	return 0;
}

static int diff(struct versions *versions, const char *left, const char *right,
		int (*each)(void *context, enum versions_change change, const char *path, uint64_t bytes),
		void *context, struct error *err)
{
	struct passing passing = { each, context };

	return lakefs_diff(of_lakefs(versions)->lakefs, left, right, pass, &passing, err);
}

/* ---- Repository and import ---- */

static int create(struct versions *versions, const char *storage, struct error *err)
{
	struct of_lakefs *own = of_lakefs(versions);

	return lakefs_repository(own->lakefs, storage, own->ref, err);
}

static int import(struct versions *versions, const struct versions_import *asked, char *ret_id,
		  uint64_t *ret_objects, struct error *err)
{
	struct of_lakefs *own = of_lakefs(versions);
	const struct lakefs_import import = { .branch = own->ref,
					      .from = asked->from,
					      .to = own->prefix,
					      .message = asked->message,
					      .metadata = asked->metadata,
					      .progress = asked->progress,
					      .context = asked->context };

	return lakefs_import(own->lakefs, &import, ret_id, ret_objects, err);
}

static const struct versions_ops ops = { .close = close_lakefs,
					 .resolve = resolve,
					 .head = head,
					 .find_commit = find_commit,
					 .branch = branch,
					 .branch_new = branch_new,
					 .branches = branches,
					 .branch_delete = branch_delete,
					 .commit = commit,
					 .merge = merge,
					 .tag = tag,
					 .diff = diff,
					 .create = create,
					 .import = import };

int versions_lakefs_open(const struct config_store *where, const struct store_options *options,
			 struct versions **ret_versions, struct error *err)
{
	CLEANUP(free_ptr) struct of_lakefs *own = calloc(1, sizeof(*own));
	struct config_lakefs parts;
	int r;

	if (!own)
		return error_set(err, -ENOMEM, "no memory for lakeFS");
	if ((r = lakefs_open(where, options, &own->lakefs, err)) < 0)
		return r;
	(void)config_lakefs(where->url, &parts);
	own->versions.ops = &ops;
	memcpy(own->ref, parts.ref, sizeof(own->ref));
	/* A prefix is a folder: its objects begin behind one slash. */
	(void)snprintf(own->prefix, sizeof(own->prefix), "%s%s", parts.prefix,
		       *parts.prefix && parts.prefix[strlen(parts.prefix) - 1] != '/' ? "/" : "");
	*ret_versions = &TAKE(own)->versions;
	return 0;
}
