/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to core/run: what run.c (reads and changes a record), run_begin.c (makes one) and run_archive.c
 * share.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#define RECORD_BYTES_MAX (4u << 20)
#define RECORD_NEXT      "next" /* in PATH_RUNS: a new record, before it becomes current */
#define RECORD_LAST      "last" /* in PATH_RUNS: a link to the archived record, before it becomes current */

/* Locks the record for a writer, and finishes what a killed writer left. Closing the descriptor unlocks.
 * Readers need no lock, because every file is replaced whole. */
MUST_CHECK int record_lock(int *ret_fd, struct error *err);

/* Renames `which` (RECORD_NEXT, RECORD_LAST) to PATH_RUN, where there is nothing or a link to an archived
 * record.
 */
MUST_CHECK int record_install(const char *which, struct error *err);

/* Moves the current record to PATH_ARCHIVE/<id>, unless it is there already, and removes the oldest records.
 */
MUST_CHECK int record_archive(const char *id, struct error *err);
/* Removes a folder and the files in it. A missing folder is no error. */
MUST_CHECK int record_remove_folder(const char *folder, struct error *err);

MUST_CHECK int record_write_json(const char *path, const cJSON *json, struct error *err);
MUST_CHECK int record_write_state(const char *path, enum run_state state, struct error *err);

/* Reads the members of run.json that struct run has; `what` names the text in errors. */
MUST_CHECK int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err);
