/* SPDX-License-Identifier: Apache-2.0 */
/* The backend of stores without branches and commits. */
#include "drivers/versions/backend.h"

#include <string.h>

/* `versions` must be the first member, because plain_of() casts. */
struct plain {
	struct versions versions;
	struct store *store;
};

static struct plain *plain_of(struct versions *versions)
{
	return (struct plain *)versions;
}

static void close_plain(struct versions *versions)
{
	store_close(plain_of(versions)->store);
	free(versions);
}

static int resolve(struct versions *versions, const char *ref, char *ret_id, struct error *err)
{
	(void)versions;
	(void)ref;
	(void)err;
	*ret_id = '\0';
	return 0;
}

static int find_commit(struct versions *versions, const char *name, const cJSON *metadata, char *ret_id,
		       struct error *err)
{
	(void)versions;
	(void)name;
	(void)metadata;
	(void)ret_id;
	(void)err;
	return 0;
}

static int branch(struct versions *versions, const char *name, const char *commit, const cJSON *mine,
		  struct error *err)
{
	(void)versions;
	(void)name;
	(void)commit;
	(void)mine;
	(void)err;
	return 0;
}

static int branch_new(struct versions *versions, const char *name, const char *commit, struct error *err)
{
	return branch(versions, name, commit, NULL, err);
}

static int branches(struct versions *versions, const char *prefix,
		    int (*each)(void *context, const char *branch), void *context, struct error *err)
{
	(void)versions;
	(void)prefix;
	(void)each;
	(void)context;
	(void)err;
	return 0;
}

static int branch_delete(struct versions *versions, const char *name, struct error *err)
{
	(void)versions;
	(void)name;
	(void)err;
	return 0;
}

static int commit(struct versions *versions, const char *name, const char *message, const cJSON *metadata,
		  bool empty, char *ret_id, struct error *err)
{
	(void)empty;
	(void)name;
	(void)message;
	(void)metadata;
	return resolve(versions, NULL, ret_id, err);
}

static int merge(struct versions *versions, const char *from, const char *into, const char *message,
		 const cJSON *metadata, bool from_wins, char *ret_id, struct error *err)
{
	(void)from;
	(void)from_wins;
	return commit(versions, into, message, metadata, false, ret_id, err);
}

static int tag(struct versions *versions, const char *name, const char *id, struct error *err)
{
	CLEANUP(json_free) cJSON *tag = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char key[STORE_KEY_MAX];
	int r;

	if (!cJSON_AddStringToObject(tag, "names", id))
		return error_set(err, -ENOMEM, "no memory for a tag");
	(void)snprintf(key, sizeof(key), "tags/%s.json", name);
	r = json_print_line(tag, &text, err);
	return r < 0 ? r : store_put_new(plain_of(versions)->store, key, text, strlen(text), err);
}

static int refuse(const struct versions *versions, const char *what, struct error *err)
{
	return error_set(err, -EOPNOTSUPP, "%s: %s: only a url lakefs://repository/branch has this",
			 store_url(((const struct plain *)versions)->store), what);
}

static int diff(struct versions *versions, const char *left, const char *right,
		int (*each)(void *context, enum versions_change change, const char *path, uint64_t bytes),
		void *context, struct error *err)
{
	(void)left;
	(void)right;
	(void)each;
	(void)context;
	return refuse(versions, "the differences of two commits", err);
}

static int create(struct versions *versions, const char *storage, struct error *err)
{
	(void)storage;
	return refuse(versions, "a repository", err);
}

static int import(struct versions *versions, const struct versions_import *asked, char *ret_id,
		  uint64_t *ret_objects, struct error *err)
{
	(void)asked;
	(void)ret_id;
	(void)ret_objects;
	return refuse(versions, "an import", err);
}

static const struct versions_ops ops = { .close = close_plain,
					 .resolve = resolve,
					 .head = resolve,
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

int versions_plain_open(const struct config_store *where, const struct store_options *options,
			struct versions **ret_versions, struct error *err)
{
	CLEANUP(free_ptr) struct plain *plain = calloc(1, sizeof(*plain));
	int r;

	if (!plain)
		return error_set(err, -ENOMEM, "no memory for a store");
	if ((r = store_open(where, options, &plain->store, err)) < 0)
		return r;
	plain->versions.ops = &ops;
	*ret_versions = &TAKE(plain)->versions;
	return 0;
}
