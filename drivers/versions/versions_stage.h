/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage: a branch for one change of another branch. It begins at the newest commit of that branch, is
 * written to, committed, merged and deleted. So the other branch has the change in one step, nothing on it is
 * uncommitted meanwhile, and a branch that the server protects takes the change.
 *
 * Order: stage_open -> objects to `at` -> stage_merge -> stage_drop; or without stage_merge. On a store
 * without branches `at` is the store itself, and the other calls do nothing. Crash: the stage stays; the next
 * stage_open() of its name begins it anew. So a name belongs to one change of one box.
 */
#pragma once

#include "drivers/versions/versions.h"

struct stage {
	struct config_store at;   /* the store with the stage as its branch */
	struct config_store into; /* the store with the branch that gets the change */
};

/* Makes the stage `name` at the newest commit of the branch of `into`. Where an earlier one of this name is
 * there, and the access key or a hook lets nobody delete it, the name gets -2, -3 and so on. `options` may be
 * NULL. */
MUST_CHECK int stage_open(const struct config_store *into, const char *name,
			  const struct store_options *options, struct stage *ret_stage, struct error *err);
/* Commits what was put, and merges it with the same message and metadata (an object of strings). No error
 * where nothing has changed. Errors: -ESTALE somebody has changed the same paths meanwhile; -EUCLEAN the
 * branch has changes of others that are not committed; those of versions.h. */
MUST_CHECK int stage_merge(const struct stage *stage, const char *message, const cJSON *metadata,
			   const struct store_options *options, struct error *err);
/* Deletes the stage, in three attempts at least; does nothing after a stage_open() that failed. The caller
 * says where it fails: the branch stays then. */
MUST_CHECK int stage_drop(const struct stage *stage, const struct store_options *options, struct error *err);
