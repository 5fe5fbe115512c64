/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers reports: a POST and a mail to people, and an upload of report.txt, report.html and report.json to
 * the store: into the folder of the run or, for a night without a run, into nights/<run.name>-<id>/.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

/* Writes <id>.pending, which lists the targets that do not have this report yet. */
MUST_CHECK int report_pend(const struct config *config, const char *id, struct error *err);
/* Posts and mails a report that could not be written because the disk is full, at most once per boot. With
 * `wait` tries for notify.wait_min, else only once. */
void report_tell(const struct config *config, const char *id, cJSON *report, bool wait);
/* Delivers the pending reports, the newest first. Only the newest is tried for notify.wait_min, the others
 * once. It is tried once at each target before any of them is waited for, so that one that is slow or away
 * does not keep it from the others. A report that cannot be delivered stays pending, and the failure is
 * logged. */
void report_send(const struct config *config);
