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

/* Returns 1 where the record is certainly another box's: it names another machine, or another root of this
 * machine; 0 where not, where the record names no machine, or where this machine has no identity: then
 * run_is_ours() is 0, too. Errors: those of machine_id_read(). */
MUST_CHECK int stored_record_is_anothers(const struct run *run, struct error *err);
