/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a night (core/box/reports.h), in a unit of its own: report.c asks for it and runs it,
 * report_make.c gathers what is known, report_faults.c what the journal has of it, report_send.c posts and
 * uploads it.
 */
#pragma once

#include "core/box/reports.h"
#include "core/box/tonight.h"
#include "oneshot/oneshot.h"

/* report_make.c: `config` may be an empty one, where none can be read. */
MUST_CHECK int report_make(const struct config *config, const struct tonight *tonight, cJSON **ret_report,
			   struct error *err);

/* report_make.c: the current run or one of the archive, and its run.json; the caller frees both. */
bool report_load_run(const char *id, struct run *ret_run, char **ret_json);

/* report_faults.c: the member "faults" of what happened then; NULL: the journal cannot be read. */
cJSON *report_faults(int64_t from_s, int64_t to_s);

/* report_send.c: what is to be delivered where; nothing where `config` has no notify.url. */
MUST_CHECK int report_pend(const struct config *config, const char *id, struct error *err);
/* Post one that there is no room for, once; `wait`: for notify.wait_min. */
void report_tell(const struct config *config, const char *id, const cJSON *report, bool wait);
/* Deliver what is pending, the newest first, which alone is waited for. What cannot be delivered is said, and
 * stays. */
void report_send(const struct config *config);
