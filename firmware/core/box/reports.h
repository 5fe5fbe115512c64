/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * The reports of past nights: PATH_REPORTS/<id>.json, and for people <id>.txt and <id>.html (core/box/report_html.h). An id is the start of the
 * night, YYYYMMDD-HHMMSS in UTC, so that ids sort by time. Only `kiln-oneshot report` writes reports, and it keeps
 * REPORTS_MAX. <id>.pending exists while the report waits to be delivered: {"store": TEXT, "notify": TEXT, "mail": TEXT}, where
 * a member gives the reason why the report is not there yet. <id>.night is a night whose report is not made yet
 * (core/box/tonight.h).
 *
 * The JSON, schema 1. A value that is not known is null; new versions add members and never change one:
 *   schema, id, text (one sentence), outcome ("finished", "failed", "expired", "stopped", "pruned", "halted": a service
 *   ended for good, "never_started"), reason, host, version, machine, slot, build (core/box/image.h),
 *   night   {from_s, to_s, by: "timer" or "hand", next_s}
 *   run     {id, state, name, epochs, epochs_done, batch_rows, seed, started_s, start_run, plan_sha256,
 *           order_version, sources: [url], outputs: url, device} or null
 *   series  {id, state, trials, finished, failed, pruned, objective, direction, spent_s: time of work, winner, value:
 *           the winner's, promotion: {outcome, why} or null}, of a run that is a
 *           trial, or the series of a night whose run is parked; else null
 *   curves  {loss, accuracy, validation_loss, validation_accuracy}, each {first, best, best_epoch, last}
 *   test    {loss, accuracy, rows}
 *   time    {starts, starting_s, waiting_s, training_s, evaluating_s, checkpoints_s, paused_s, throttled_s,
 *           upload_s}, of all nights of the run,
 *           not of other trials; uploads run at the same time as the other stages
 *   faults  [{event, level, count, last_s, message}] of the night, by event (core/base/events.h); message: the
 *           last one; null: the journal cannot be read
 *   quarantine, left_behind, changed, validation_seen, test_seen, test_given_up, promotion: as in run.json
 *   degraded [{daemon, why}] at the end of the night
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

/* Returns out: the report id of the night that began at `from_s`. */
char *report_id(int64_t from_s, char out[static REPORT_ID_BYTES]);
/* Returns out: the path of a file of the report. `form`: its suffix, "json", "txt", "html", "pending" or
 * "night". */
char *report_path(const char *id, const char *form, char out[static PATH_BYTES]);
/* Lists the ids of all reports with a file of this form, oldest first. The caller frees the array. */
MUST_CHECK int report_list(const char *form, char (**ret_ids)[REPORT_ID_BYTES], uint32_t *ret_count,
			   struct error *err);
/* Returns the newest report as {id, outcome, text, pending {store, notify, mail}}; a JSON null where there is
 * no report. NULL: no memory. */
cJSON *report_newest(void);
/* Returns the newest report, which the caller frees. NULL: there is none, or it cannot be read. */
cJSON *report_load_newest(void);
/* Removes all reports except the newest REPORTS_MAX; ignores files that cannot be removed. */
void report_keep(void);

/* ---- Text, for the page and for `kiln report` ---- */

/* Prints a report as a page of text. */
void report_print(const cJSON *report, FILE *out);
/* Print one member of a report: "time" as a table, "test" as a line, "left_behind" as text. Print nothing
 * where the argument is NULL or a JSON null. */
void report_print_time(const cJSON *time, FILE *out);
void report_print_test(const cJSON *test, FILE *out);
void report_print_left_behind(const cJSON *left, FILE *out);
/* Prints "promotion" of a report or of a run.json as text; nothing where it is NULL or a JSON null. */
void report_print_promotion(const cJSON *promotion, FILE *out);
/* Prints "validation_seen", "test_seen" and "test_given_up" of a report or of a run.json as text, where it
 * has them. */
void report_print_seen(const cJSON *report, FILE *out);
