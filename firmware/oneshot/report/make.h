/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the JSON of a report. core/box/reports.h documents its members. */
#pragma once

#include "core/base/json.h"
#include "core/box/tonight.h"

/* Makes the report of a night from all that is known. `config` may be empty, where no configuration could be
 * read. *ret_record: the run.json of the night's run; NULL = the night had no run. The caller frees both. */
MUST_CHECK int report_make(const struct config *config, const struct tonight *tonight, cJSON **ret_report,
			   cJSON **ret_record, struct error *err);

/* Loads the current run or one of the archive, and the text of its run.json; the caller calls run_done() and
 * free(). */
bool report_load_run(const char *id, struct run *ret_run, char **ret_json);
