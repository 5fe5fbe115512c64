/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What run.c (reading and changing a record) and run_begin.c (making and archiving one) share.
 */
#pragma once

#include "core/json.h"
#include "core/run.h"

#define RECORD_BYTES_MAX (4u << 20)
#define RECORD_NEXT      "next" /* in PATH_RUNS: the record on its way in */

/* One writer at a time; readers need no lock, since every file is replaced whole. Finishes what a killed
 * begin left. The lock goes with the descriptor. */
MUST_CHECK int record_lock(int *ret_fd, struct error *err);

MUST_CHECK int record_write_json(const char *path, const cJSON *json, struct error *err);
MUST_CHECK int record_write_state(const char *path, enum run_state state, struct error *err);

/* The members of run.json that struct run has; `what` names the text in errors. */
MUST_CHECK int record_parse(const char *what, const cJSON *record, struct run *ret_run, struct error *err);
