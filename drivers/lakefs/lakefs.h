/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The REST API of a lakeFS server, for one repository: its branches, commits, merges, tags, and the import of
 * objects that stay where they are. The contract is lakeFS's OpenAPI document (tests/lakefs/openapi.yml).
 * Objects are not read here: they go through lakeFS's S3 gateway (drivers/store).
 *
 *     lakefs.c         opens and closes
 *     lakefs_change.c  branches, commits, merges, tags
 *     lakefs_import.c  repository and import
 *     lakefs_diff.c    what differs between two refs, and the names of branches
 *     lakefs_call.c    one call: attempts, retries, the error's sentence
 *     lakefs_reply.c   parses answers; pure functions
 *
 * Threads: one, the caller's; every call blocks. Order: lakefs_open -> calls -> lakefs_close.
 * Crash: a call was carried out by the server or not. Each call that changes something may be made again: it
 * recognizes what an earlier call has done (below), also where only that call's answer was lost. An import is
 * not recognized, and is begun once only: made again, it replaces the same objects by another commit.
 *
 * Errors of every call, whose text names the repository, the object and the server's message:
 * -EACCES refused (401, 403); -ENOENT no such repository, branch, ref (404, 410); -EINVAL the server calls
 * the request wrong (400); -EPERM a hook of the repository refused (412); after all attempts -EBUSY the
 * branch is locked (423), -EAGAIN too many requests (429, 503), -EIO another answer 5xx, -EBADMSG an answer
 * that makes no sense, -ENONET the network answers in the server's place (a login page, a redirection),
 * -ETIMEDOUT, -ECONNREFUSED and the like. A Retry-After is honoured (http/retry.h).
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

#define LAKEFS_ID_BYTES 129u /* id of a commit, and a NUL; lakeFS has 64 hex digits */

struct lakefs;

/* `where`: a store with a url lakefs://repository/ref; its credential has the access key of lakeFS.
 * `options`: attempts and time limits, awake() and deadline, as for a store. Errors: -EKEYREJECTED, -EINVAL.
 */
MUST_CHECK int lakefs_open(const struct config_store *where, const struct store_options *options,
			   struct lakefs **ret_lakefs, struct error *err);
/* Accepts NULL. */
void lakefs_close(struct lakefs *lakefs);
void lakefs_closep(struct lakefs **lakefs);

/* Finds the commit of a branch, a tag, a commit, or an expression such as main~1. */
MUST_CHECK int lakefs_resolve(struct lakefs *lakefs, const char *ref, char ret_id[static LAKEFS_ID_BYTES],
			      struct error *err);

/* Finds the newest commit of a branch, which is no tag and no commit. */
MUST_CHECK int lakefs_head(struct lakefs *lakefs, const char *branch, char ret_id[static LAKEFS_ID_BYTES],
			   struct error *err);

/* Finds the newest commit of a branch that has all of the metadata, an object of strings, among its newest
 * 100, without those that a merge brought. Returns 1 where there is one, else 0. */
MUST_CHECK int lakefs_find_commit(struct lakefs *lakefs, const char *branch, const cJSON *metadata,
				  char ret_id[static LAKEFS_ID_BYTES], struct error *err);

/* Creates a branch at a commit. 0 also where it exists and its newest commit is this one, or a commit on it
 * has all of the metadata `mine` (lakefs_find_commit()). Errors: -EEXIST it is another's. */
MUST_CHECK int lakefs_branch(struct lakefs *lakefs, const char *branch, const char *commit, const cJSON *mine,
			     struct error *err);
/* Creates a branch at a commit. Errors: -EEXIST there is one of this name; also where the answer to an
 * attempt that made it was lost. */
MUST_CHECK int lakefs_branch_new(struct lakefs *lakefs, const char *branch, const char *commit,
				 struct error *err);
/* Calls `each` for every branch whose name begins with `prefix`, in order of names. Where `each` returns a
 * value other than 0, that is the result. */
MUST_CHECK int lakefs_branches(struct lakefs *lakefs, const char *prefix,
			       int (*each)(void *context, const char *branch), void *context,
			       struct error *err);
/* Deletes a branch. No error where there is none. */
MUST_CHECK int lakefs_branch_delete(struct lakefs *lakefs, const char *branch, struct error *err);

/* Commits what was uploaded to the branch. `metadata`: an object of strings. 0 also where nothing is
 * uncommitted and the newest commit has all of this metadata: an earlier call made it. Errors: -ENODATA there
 * is nothing to commit, also where a hook refuses a commit without changes. */
MUST_CHECK int lakefs_commit(struct lakefs *lakefs, const char *branch, const char *message,
			     const cJSON *metadata, char ret_id[static LAKEFS_ID_BYTES], struct error *err);
/* Makes a commit also where nothing is uncommitted. Not sent again where the answer is lost: the caller looks
 * for the commit (lakefs_find_commit()) before it calls again. */
MUST_CHECK int lakefs_commit_empty(struct lakefs *lakefs, const char *branch, const char *message,
				   const cJSON *metadata, char ret_id[static LAKEFS_ID_BYTES],
				   struct error *err);

/* Merges `ref` into the branch. 0 also where the branch has all of it and the newest commit has all of this
 * metadata. With `ref_wins` a path that both sides changed becomes that of `ref`. Errors: -ENODATA the branch
 * has all of it already; -EUCLEAN the branch has changes that are not committed; -ESTALE a conflict: both
 * sides changed the paths that the text names, and nothing was merged. */
MUST_CHECK int lakefs_merge(struct lakefs *lakefs, const char *ref, const char *branch, const char *message,
			    const cJSON *metadata, bool ref_wins, char ret_id[static LAKEFS_ID_BYTES],
			    struct error *err);

/* Names a commit. 0 also where the tag names this commit already. Errors: -EEXIST it names another. */
MUST_CHECK int lakefs_tag(struct lakefs *lakefs, const char *tag, const char *commit, struct error *err);

struct lakefs_difference {
	const char *type; /* "added", "removed", "changed", "conflict" */
	const char *path;
	uint64_t bytes;
};

/* Calls `each` for every object that differs, in order of paths: what `right` has changed since both
 * parted. Where `each` returns a value other than 0, that is the result. */
MUST_CHECK int lakefs_diff(struct lakefs *lakefs, const char *left, const char *right,
			   int (*each)(void *context, const struct lakefs_difference *difference),
			   void *context, struct error *err);

/* Creates the repository, whose own data is below `storage`, such as s3://bucket/prefix. 0 also where it
 * exists with this storage. Errors: -EEXIST it has another. */
MUST_CHECK int lakefs_repository(struct lakefs *lakefs, const char *storage, const char *branch,
				 struct error *err);

struct lakefs_import {
	const char *branch;
	const char *from; /* the prefix to import, such as s3://bucket/prefix/ */
	const char *to;   /* prefix below the branch; "" = its root */
	const char *message;
	const cJSON *metadata; /* metadata of the import's commit; NULL = none */
	/* Called after each look at the import's state; may be NULL. */
	void (*progress)(void *context, uint64_t objects);
	void *context;
};

/* Imports a prefix: its objects become objects of the branch and stay where they are. Waits until the server
 * has finished. Where the answer to the beginning of the import is lost, the server may go on with it: the
 * call returns the error, and the branch has the commit later. Errors: -EIO the import failed, with the
 * server's reason; -ETIMEDOUT it shows no progress for a quarter of an hour. */
MUST_CHECK int lakefs_import(struct lakefs *lakefs, const struct lakefs_import *import,
			     char ret_id[static LAKEFS_ID_BYTES], uint64_t *ret_objects, struct error *err);
