/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of what a store has: which commit a ref is, branches, commits, merges and tags. One interface for
 * two backends. On lakefs:// (versions_lakefs.c) each call is one of lakeFS. On s3:// and file://
 * (versions_plain.c) a branch is a folder of its own, which needs no call; run.json says what a commit would
 * say, and a tag is an object tags/NAME.json. So a caller does the same on every store, and nothing of lakeFS
 * is seen above this folder.
 *
 * Threads: one, the caller's; every call blocks. Order: versions_open -> calls -> versions_close.
 * Crash: a call was carried out or not, and may be made again: it recognizes what an earlier call has done.
 * An import alone is not recognized (lakefs.h).
 *
 * Errors of every call: those of store.h and, on lakefs://, of lakefs.h. With one meaning on both:
 * -EEXIST the branch or tag exists and is another's; -ENODATA there is nothing to commit or merge; -ESTALE a
 * merge conflict, with the paths; -EPERM a hook refused; -EOPNOTSUPP the store keeps no such versions.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

#define VERSIONS_ID_BYTES 129u

struct versions;

/* Opens the versions of the store `where`: the repository or the prefix of its url. `options` may be NULL. */
MUST_CHECK int versions_open(const struct config_store *where, const struct store_options *options,
			     struct versions **ret_versions, struct error *err);
/* Accepts NULL. */
void versions_close(struct versions *versions);
void versions_closep(struct versions **versions);

/* Tells whether a store has branches and commits, by its url. */
bool versions_has_branches(const struct config_store *where);
/* Writes the branch that objects of the store `where` are put to: where->at, else that of its url; "" on a
 * store without branches. Returns `out`. */
const char *versions_branch_of(const struct config_store *where, char out[static CONFIG_REF_MAX + 1]);

/* Finds the commit of the ref in the url (`ref` NULL), or of another one. "" on a store without commits:
 * there the pins of the plan say what was read. */
MUST_CHECK int versions_resolve(struct versions *versions, const char *ref,
				char ret_id[static VERSIONS_ID_BYTES], struct error *err);

/* Finds the newest commit of a branch, which is no tag and no commit. "" on a store without commits. Errors:
 * -ENOENT there is no such branch. */
MUST_CHECK int versions_head(struct versions *versions, const char *branch,
			     char ret_id[static VERSIONS_ID_BYTES], struct error *err);

/* Finds the newest commit of a branch that has all of the metadata (an object of strings), among its newest
 * 100, without those that a merge brought. Returns 1 where there is one, else 0, as on a store without
 * commits. Errors: -ENOENT there is no such branch. */
MUST_CHECK int versions_find_commit(struct versions *versions, const char *branch, const cJSON *metadata,
				    char ret_id[static VERSIONS_ID_BYTES], struct error *err);

/* Creates a branch at a commit. 0 also where it exists and its newest commit is this one, or a commit on it
 * has all of the metadata `mine` (an object of strings; may be NULL). */
MUST_CHECK int versions_branch(struct versions *versions, const char *branch, const char *commit,
			       const cJSON *mine, struct error *err);
/* Creates a branch that no other box of the store has, whatever their prefixes are. Errors: -EEXIST there is
 * one of this name, at whatever commit; also where the answer to an attempt that made it was lost. */
MUST_CHECK int versions_branch_new(struct versions *versions, const char *branch, const char *commit,
				   struct error *err);
/* Calls `each` for every branch whose name begins with `prefix`, in order of names; on a store without
 * branches for none. Where `each` returns a value other than 0, that is the result. */
MUST_CHECK int versions_branches(struct versions *versions, const char *prefix,
				 int (*each)(void *context, const char *branch), void *context,
				 struct error *err);
/* Deletes a branch, on a store without branches nothing. No error where there is none. */
MUST_CHECK int versions_branch_delete(struct versions *versions, const char *branch, struct error *err);

/* Commits what was put to the branch. `metadata`: an object of strings. 0 also where the newest commit is the
 * one asked for. With `empty` makes a commit also where nothing has changed: look for it before
 * (versions_find_commit()), because no earlier one is recognized. Gives the id of the commit, "" on a store
 * without commits. */
MUST_CHECK int versions_commit(struct versions *versions, const char *branch, const char *message,
			       const cJSON *metadata, bool empty, char ret_id[static VERSIONS_ID_BYTES],
			       struct error *err);
/* Merges a branch into another one. 0 also where the newest commit is the one asked for. With `from_wins` a
 * path that both have changed becomes that of `from`. Errors: also -EUCLEAN `into` has changes that are not
 * committed. */
MUST_CHECK int versions_merge(struct versions *versions, const char *from, const char *into,
			      const char *message, const cJSON *metadata, bool from_wins,
			      char ret_id[static VERSIONS_ID_BYTES], struct error *err);

/* Names a commit; without commits, a branch. 0 also where the tag names it already. */
MUST_CHECK int versions_tag(struct versions *versions, const char *tag, const char *commit,
			    struct error *err);

enum versions_change {
	VERSIONS_ADDED,
	VERSIONS_REMOVED,
	VERSIONS_CHANGED,
	VERSIONS_CONFLICT,
	VERSIONS_CHANGE_MAX
};

const char *versions_change_name(enum versions_change change);

/* Calls `each` for every object that `right` has changed since it parted from `left`, in order of paths.
 * Where `each` returns a value other than 0, that is the result. */
MUST_CHECK int versions_diff(struct versions *versions, const char *left, const char *right,
			     int (*each)(void *context, enum versions_change change, const char *path,
					 uint64_t bytes),
			     void *context, struct error *err);

/* Creates what the url names: the repository, with its own data below `storage`, and its first branch, that
 * of the url. 0 also where it exists so. */
MUST_CHECK int versions_create(struct versions *versions, const char *storage, struct error *err);

struct versions_import {
	const char *from; /* a prefix in the store below, such as s3://bucket/prefix/ */
	const char *message;
	const cJSON *metadata; /* metadata of the commit; NULL = none */
	/* Called after each look at the import's state; may be NULL. */
	void (*progress)(void *context, uint64_t objects);
	void *context;
};

/* Makes the objects of a prefix objects of the url's branch and prefix, without copying them. Gives the id of
 * the commit and the number of objects. */
MUST_CHECK int versions_import(struct versions *versions, const struct versions_import *import,
			       char ret_id[static VERSIONS_ID_BYTES], uint64_t *ret_objects,
			       struct error *err);
