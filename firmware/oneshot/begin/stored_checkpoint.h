/* SPDX-License-Identifier: Apache-2.0 */
/* The checkpoints of a run in the store: the folder <run id>/checkpoints/ of the sink. Its latest.json has
 * the name and the SHA-256 of the newest one. */
#pragma once

#include "core/run/spool.h"
#include "drivers/store/store.h"

/* Copies the newest good checkpoint of a run from the store into the file `path`; ret_name is the name of
 * that checkpoint ("" = the store has none). Tries the one that latest.json names first, then the others,
 * newest first, and sends an event for each that is damaged or missing. Errors: -EBADMSG the store has
 * checkpoints, but no good one. */
MUST_CHECK int stored_checkpoint_get(struct store *sink, const char *run_id, const char *path,
				     char ret_name[static SPOOL_NAME_BYTES], struct error *err);

/* Tells whether the store has any checkpoint of a run, good or not. */
MUST_CHECK int stored_checkpoint_any(struct store *sink, const char *run_id, bool *ret_any,
				     struct error *err);
