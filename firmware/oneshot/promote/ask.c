/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/ask.h"

#include "core/base/json.h"
#include "core/base/log.h"
#include "core/run/later.h"
#include "core/series/series.h"
#include "drivers/manager/manager.h"
#include "oneshot/promote/outcome.h"

#define UNIT   "kiln-promote.service"
#define WAIT_S (3 * 3600u) /* TimeoutStartSec= of the unit */

static int run(struct error *err)
{
	CLEANUP(manager_closep) struct manager *manager = NULL;
	int r = manager_open(&manager, err);

	return r < 0 ? r : manager_run(manager, UNIT, WAIT_S, err);
}

void promote_ask(const struct config *config)
{
	struct error err = { 0 };

	if (config->promote.against != AGAINST_OFF && run(&err) < 0)
		log_warning("%s; going on, the model of this night is not judged", err.text);
}

void promote_later(const struct config *config)
{
	struct error err = { 0 };

	if (config->promote.against != AGAINST_OFF && later_note(LATER_JUDGE, &err) < 0)
		log_warning("%s; the model of this night is judged after the next boot", err.text);
}

/* Returns the series that a run belongs to; NULL: none, or its record is gone. */
static const cJSON *load_series(const cJSON *record, cJSON **ret_series)
{
	const char *id = cJSON_GetStringValue(json_member(record, "series.id"));

	return id && series_load(id, ret_series, NULL) == 0 ? *ret_series : NULL;
}

bool promote_is_due(void)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(json_free) cJSON *record = NULL, *series = NULL;

	return run_load(&run, NULL) == 0 && run.state == RUN_FINISHED &&
	       run.config.promote.against != AGAINST_OFF && run_record(&record, NULL) == 0 &&
	       (!outcome_is_noted(load_series(record, &series), record) || outcome_left_branches(series));
}
