/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches that this box makes for one change, until they are deleted: a file PATH_RUNS/left/NAME for each,
 * with the url of its sink. A name is noted before its branch is made, but NAME-2, which a stage gets where
 * NAME cannot be deleted, after it. So neither a server that does not let a branch go nor a kill, except
 * between these two steps, leaves one that nobody knows: the next promotion or report deletes it.
 *
 * Only one kiln-oneshot promote works at a time, and one kiln-oneshot report. Each deletes its own branches.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/versions/versions_stage.h"

#define LEFT_REPORT "report-" /* how the names of the branches of reports begin */

/* Notes a branch of a sink; on a store without branches nothing. Where 100 are noted, the one that was noted
 * first is forgotten, with a warning. A failure is a warning. */
void left_note(const struct config_store *sink, const char *branch);
/* Forgets a branch that is deleted, or is kept. */
void left_forget(const char *branch);

/* stage_open() and stage_drop() with the note. A stage that cannot be deleted stays noted, with a warning. */
MUST_CHECK int left_stage_open(const struct config_store *into, const char *name,
			       const struct store_options *options, struct stage *ret_stage,
			       struct error *err);
void left_stage_drop(const struct stage *stage, const struct store_options *options);

/* Deletes the noted branches of the sink of `config`: those of reports, or else all others but `busy` ("" =
 * none). One that the server does not let go stays noted, with a warning, and blocks no other one. Returns 1
 * where the server cannot be asked. */
int left_delete(const struct config *config, bool of_reports, const char *busy,
		const struct store_options *options);
