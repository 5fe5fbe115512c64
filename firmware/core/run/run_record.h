/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the files of the run record share. Private to core/run.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"

#include <sys/types.h>

/* Largest run.json that is written: the copy for the store has the member "state", too. */
#define RECORD_WRITE_MAX (RUN_JSON_MAX - 1024)
/* Largest run.json of a new record: the rest is room for what the programs add. */
#define RECORD_NEW_MAX (3u << 20)
#define RECORD_NEXT    "next"   /* in PATH_SLOT: a new record, before it becomes current */
#define RECORD_PARKED  "parked" /* in PATH_RUNS: a folder of the records of parked runs */
#define RECORD_LAST    "last"   /* in PATH_SLOT: a link to the archived record, before it becomes current */

/* ---- run_current.c ---- */

/* Locks the record for a writer, and completes the changes that a killed writer left unfinished. Closing the
 * descriptor unlocks. Readers need no lock, because every file is replaced as a whole. */
MUST_CHECK int record_lock(int *ret_fd, struct error *err);

/* Makes `which` (RECORD_NEXT or RECORD_LAST) the current record by renaming it to PATH_RUN. Before the call
 * PATH_RUN must be missing, or a link to an archived record. */
MUST_CHECK int record_install(const char *which, struct error *err);

/* The identity of the current record: PATH_RUN is a folder, or a link and the folder it leads to; zeros =
 * neither. */
struct record_identity {
	ino_t entry, folder;
};

/* Finds out which record is current. Blocks: while a writer is between two renames. */
MUST_CHECK int record_find(struct record_identity *ret_identity, struct error *err);
/* Tells whether another record has become current since `before`. The files that the caller has read one by
 * one may then belong to two records, or may be missing because the record was moved meanwhile. */
bool record_has_moved(const struct record_identity *before);

/* ---- run_archive.c ---- */

/* Moves the current record to PATH_ARCHIVE/<id>, unless it is already there, and removes the oldest archived
 * records. */
MUST_CHECK int record_archive(const char *id, struct error *err);
/* Moves a record that is final, from the folder `from`, to PATH_ARCHIVE/<id>, and removes the oldest archived
 * records. */
MUST_CHECK int record_archive_folder(const char *from, const char *id, struct error *err);
/* Chooses a path, which does not exist yet, for a record that no program can read. */
const char *record_aside_path(char path[static PATH_BYTES]);
/* Removes a folder and the files in it. A missing folder is no error. */
MUST_CHECK int record_remove_folder(const char *folder, struct error *err);

/* ---- run.c ---- */

/* Reads run.json of an archived run, or of the current run where archived_id is NULL. */
MUST_CHECK int record_read_json(const char *archived_id, cJSON **ret_json, struct error *err);

/* Write a file of the record durably (core/base/paths.h). Errors of record_write_json(): -E2BIG the file
 * would have more than RECORD_WRITE_MAX bytes, so it is not written. */
MUST_CHECK int record_write_json(const char *path, const cJSON *json, struct error *err);
MUST_CHECK int record_write_state(const char *path, enum run_state state, struct error *err);

/* ---- run_parse.c ---- */

/* Finds a state by its name. `what`: the name of the text in errors. */
MUST_CHECK int record_parse_state(const char *what, const char *name, enum run_state *ret_state,
				  struct error *err);
/* Reads the members of run.json that are also members of struct run. `what`: the name of the text in
 * errors. */
MUST_CHECK int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err);

/* ---- run_known.c ---- */

/* Copies into the record of a repeat what the earlier record says about the plan and the weights, which both
 * runs share: the members manifests, validation_seen and test_seen, where they are there. Errors: -EBADMSG a
 * member is not what fetchd writes. */
MUST_CHECK int record_copy_known(const cJSON *old, cJSON *record, struct error *err);

/* ---- run_commits.c ---- */

/* Copies the member "commits", where there is one. Errors: -EBADMSG. */
MUST_CHECK int record_copy_commits(const cJSON *old, cJSON *record, struct error *err);
