/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers reports: a POST to notify.url, and report.txt and report.json in the store, beside the files of
 * the run or, for a night without a run, below nights/<run.name>-<id>/.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

/* Writes <id>.pending: where this report is still to be delivered. */
MUST_CHECK int report_pend(const struct config *config, const char *id, struct error *err);
/* Posts a report that the full disk cannot take, once in this boot. `wait`: tries for notify.wait_min, else
 * once. */
void report_tell(const struct config *config, const char *id, const cJSON *report, bool wait);
/* Delivers what is pending, the newest report first; only that one is tried for notify.wait_min. What cannot
 * be delivered is logged and stays pending. */
void report_send(const struct config *config);
