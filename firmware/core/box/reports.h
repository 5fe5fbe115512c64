/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * The reports of past nights: PATH_REPORTS/<id>.json, and <id>.txt, a page for people. An id is when the
 * night began, YYYYMMDD-HHMMSS in UTC, so that ids sort by time. `kiln-oneshot report` alone writes them;
 * REPORTS_MAX are kept. <id>.pending is there until the report is where it belongs: {"store": TEXT, "notify":
 * TEXT}, each as long as it is not there, with the reason. <id>.night is a night that has no report yet
 * (core/box/tonight.h).
 *
 * The JSON, schema 1; what is not known is null, and members are added, never changed:
 *   schema, id, text (one sentence), outcome ("finished", "failed", "expired", "stopped", "halted": a service
 *   ended for good, "never_started"), reason, host, version, machine, slot, build (core/box/image.h),
 *   night   {from_s, to_s, by: "timer" or "hand", next_s}
 *   run     {id, state, name, epochs, epochs_done, batch_rows, seed, started_s, start_run, plan_sha256,
 *           order_version, sources: [url], outputs: url, device} or null
 *   curves  {loss, accuracy, validation_loss, validation_accuracy}, each {first, best, best_epoch, last}
 *   test    {loss, accuracy, rows}
 *   time    {starts, starting_s, waiting_s, training_s, evaluating_s, checkpoints_s, paused_s, throttled_s,
 *           upload_s}, of the run over all its nights; uploads go on beside the rest
 *   faults  [{event, level, count, last_s, message}] of the night, by core/base/events.h, the last message of each;
 *           null: the journal cannot be read
 *   quarantine, left_behind, changed: as in run.json
 *   degraded [{daemon, why}] as it was at the end
 */
/* clang-format on */
#pragma once

#include "core/base/json.h"
#include "core/base/paths.h"

#include <stdbool.h>
#include <stdio.h>

#define REPORT_SCHEMA    1u
#define REPORT_BYTES_MAX (4u << 20)
#define REPORT_ID_BYTES  16u
#define REPORTS_MAX      30u

/* Of the night that began at `from_s`. */
char *report_id(int64_t from_s, char out[static REPORT_ID_BYTES]);
/* `form`: "json", "txt", "pending" or "night". */
char *report_path(const char *id, const char *form, char out[static PATH_BYTES]);
/* The ids with a file of this form, oldest first, in a malloc'ed array that the caller frees. */
MUST_CHECK int report_list(const char *form, char (**ret_ids)[REPORT_ID_BYTES], uint32_t *ret_count,
			   struct error *err);
/* The newest one, {id, outcome, text, pending {store, notify}}, and null where there is none. NULL: no
 * memory. */
cJSON *report_newest(void);
/* Remove the oldest ones; what cannot be removed stays. */
void report_keep(void);

/* ---- Words, for the page and for `kiln report` ---- */

/* All of it. */
void report_print(const cJSON *report, FILE *out);
/* Parts, each nothing where the object is NULL or null: a table of "time", a line of "test", "left_behind".
 */
void report_print_time(const cJSON *time, FILE *out);
void report_print_test(const cJSON *test, FILE *out);
void report_print_left_behind(const cJSON *left, FILE *out);
