/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What run.c (reading and changing a record), run_begin.c (making one) and run_archive.c share.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#define RECORD_BYTES_MAX (4u << 20)
#define RECORD_NEXT      "next" /* in PATH_RUNS: the record on its way in */
#define RECORD_LAST      "last" /* in PATH_RUNS: the link to the record on its way out */

/* One writer at a time; readers need no lock, since every file is replaced whole. Finishes what a killed
 * writer left. The lock goes with the descriptor. */
MUST_CHECK int record_lock(int *ret_fd, struct error *err);

/* `which` (RECORD_NEXT, RECORD_LAST) becomes PATH_RUN, where there is no record or a link to an archived one.
 */
MUST_CHECK int record_install(const char *which, struct error *err);

/* The current record to PATH_ARCHIVE/<id>, unless it is there; the oldest besides it go. */
MUST_CHECK int record_archive(const char *id, struct error *err);
/* A folder and the files in it. None is no error. */
MUST_CHECK int record_remove_folder(const char *folder, struct error *err);

MUST_CHECK int record_write_json(const char *path, const cJSON *json, struct error *err);
MUST_CHECK int record_write_state(const char *path, enum run_state state, struct error *err);

/* The members of run.json that struct run has; `what` names the text in errors. */
MUST_CHECK int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err);
