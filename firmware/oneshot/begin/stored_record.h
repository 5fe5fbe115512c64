/* SPDX-License-Identifier: Apache-2.0 */
/* The run.json of a run in the store: <run id>/run.json in the sink. */
#pragma once

#include "core/run/run.h"
#include "drivers/store/store.h"

/* Reads the run.json of a run in the store into *ret_run, without the configuration (ret_run->config stays
 * empty). *ret_text is the text of the run.json, of *ret_bytes bytes; the caller frees it. Errors: -ENOENT
 * the store has no such run; -EBADMSG. */
MUST_CHECK int stored_record_get(struct store *sink, const char *id, struct run *ret_run, char **ret_text,
				 uint64_t *ret_bytes, struct error *err);

/* Writes the record of the current run into the store. */
MUST_CHECK int stored_record_put(struct store *sink, const char *run_id, struct error *err);

/* Reads the frozen configuration from the text of a run.json. `file` is the name of the text in errors. The
 * caller calls config_done(). */
MUST_CHECK int stored_record_config(const char *file, const char *text, uint64_t bytes,
				    struct config *ret_config, struct error *err);

/* Returns whether the record is certainly another box's: it names another machine, or another root of this
 * machine. False where the record names no machine, or this machine has no identity; run_is_ours() is false
 * then, too. */
bool stored_record_is_anothers(const struct run *run);
