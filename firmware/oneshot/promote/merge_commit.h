/* SPDX-License-Identifier: Apache-2.0 */
/* What merge.c and merge_kept.c share. */
#pragma once

#include "core/config/config.h"
#include "drivers/versions/versions.h"

/* Returns -EBUSY for an error that may pass, where a store says so, or somebody's changes are not committed
 * yet: promote.c takes -EAGAIN for a run that goes on. Else returns `r`. */
int merge_later(int r, struct error *err);

MUST_CHECK int merge_versions(const struct config *config, struct versions **ret_versions, struct error *err);

/* Makes metadata that says what happened. `run_id` and `series` may be "". NULL: no memory. */
cJSON *merge_metadata(const char *what, const char *text, const char *run_id, const char *series);

/* Commits a branch, also where nothing has changed, and finds its newest commit. */
MUST_CHECK int merge_commit(struct versions *versions, const char *branch, const char *message,
			    const cJSON *metadata, char ret_id[static VERSIONS_ID_BYTES], struct error *err);
