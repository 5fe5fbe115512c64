/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/beside.h"
#include "controld/status/figure.h"
#include "controld/status/watch.h"
#include "core/base/slot.h"
#include "core/series/series.h"

#include <math.h>
#include <string.h>

/* Tells whether a trial runs in a slot other than 0. */
static bool is_beside(const cJSON *trial)
{
	return trial_state_of(trial) == TRIAL_RUNNING && trial_slot(trial) > 0;
}

/* Reads a page of the slot of a trial, where it is that of the trial's run. Of a trial that begins the id of
 * the run is not noted yet. */
static bool read_page(const cJSON *trial, enum status_daemon daemon, struct status *ret_page)
{
	const unsigned mine = slot_use(trial_slot(trial));
	const int r = status_read(daemon, ret_page, NULL);

	(void)slot_use(mine);
	return r == 0 && strcmp(ret_page->run_id, series_text(trial, "run")) == 0;
}

static void add_figures(cJSON *row, const struct status_traind *page)
{
	const double steps = page ? (double)page->epochs * (double)page->epoch_steps : 0;

	figure_count(row, "epoch", page, page ? page->epoch + 1 : 0);
	figure_count(row, "epochs", page, page ? page->epochs : 0);
	figure_count(row, "step", page, page ? page->step : 0);
	figure_number(row, "percent", steps > 0 ? fmin(100, 100 * (double)page->step / steps) : (double)NAN);
	figure_number(row, "loss", page ? page->loss : (double)NAN);
	figure_number(row, "validation_loss", page ? page->validation_loss : (double)NAN);
}

static cJSON *row_of(const cJSON *trial)
{
	const char *run_id = series_text(trial, "run");
	cJSON *row = cJSON_CreateObject();
	struct status page;
	const bool known = read_page(trial, STATUS_TRAIND, &page);

	(void)json_add_u64(row, "slot", trial_slot(trial));
	figure_text(row, "trial", series_text(trial, "name"));
	figure_text(row, "run", *run_id ? run_id : NULL);
	(void)cJSON_AddBoolToObject(row, "alive", known && watch_is_alive(&page));
	figure_text(row, "phase", known ? page.phase : NULL);
	figure_text(row, "text", known ? page.text : NULL);
	add_figures(row, known ? &page.traind : NULL);
	return row;
}

void beside_add(cJSON *object, const cJSON *series)
{
	cJSON *rows = cJSON_AddArrayToObject(object, "beside");

	for (uint32_t i = 0; i < series_trials(series); i++)
		if (is_beside(series_trial(series, i)))
			(void)cJSON_AddItemToArray(rows, row_of(series_trial(series, i)));
}

bool beside_goes_on(void)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 && series_state_of(series) == SERIES_RUNNING &&
	       series_runs_elsewhere(series, 0);
}

static bool is_degraded(const cJSON *trial, char *out, size_t size)
{
	struct status page;

	for (int i = STATUS_FETCHD; i <= STATUS_TRAIND; i++) {
		if (!read_page(trial, (enum status_daemon)i, &page) || !*page.degraded)
			continue;
		(void)snprintf(out, size, "slot %u: %s: %s", trial_slot(trial),
			       status_daemon_name((enum status_daemon)i), page.degraded);
		return true;
	}
	return false;
}

const char *beside_trouble(char *out, size_t size)
{
	CLEANUP(json_free) cJSON *series = NULL;

	if (series_load_unfinished(&series, NULL) < 0)
		return NULL;
	for (uint32_t i = 0; i < series_trials(series); i++)
		if (is_beside(series_trial(series, i)) && is_degraded(series_trial(series, i), out, size))
			return out;
	return NULL;
}
