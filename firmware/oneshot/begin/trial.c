/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/trial.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/series/next.h"
#include "core/series/trials.h"
#include "oneshot/begin/bring_series.h"
#include "oneshot/begin/claim_series.h"
#include "oneshot/begin/overrides.h"
#include "oneshot/begin/slots.h"
#include "oneshot/begin/trial_begin.h"
#include "oneshot/series/after.h"
#include "oneshot/series/end.h"
#include "oneshot/series/freeze.h"
#include "oneshot/series/note.h"

#include <inttypes.h>
#include <string.h>

static int begun_of(enum after after)
{
	switch (after) {
	case AFTER_OVER:
		return SERIES_BEGUN_OVER;
	case AFTER_WAIT:
		return SERIES_BEGUN_WAIT;
	default:
		return SERIES_BEGUN_NONE;
	}
}

/* Goes on with a series in this slot. Returns an enum series_begun: SERIES_BEGUN_NONE where the current run
 * is none of its trials, or a person gave the series up. */
static int go_on(const char *file, struct held *held, const struct config *config, struct error *err)
{
	enum after after = AFTER_NEXT;
	int r = SERIES_BEGUN_NONE;

	while (r == SERIES_BEGUN_NONE && (r = after_run_of(held->series, &after, err)) == 0 &&
	       (after == AFTER_NEXT || after == AFTER_REST)) {
		const struct next next = next_of(config, held->series, slot_now());

		if (next.waits)
			return SERIES_BEGUN_WAIT;
		if (next.over)
			break;
		series_set_state(held->series, SERIES_RUNNING);
		r = trial_begin(file, held, config, &next, err);
	}
	return r == SERIES_BEGUN_NONE ? begun_of(after) : r;
}

/* Goes on with a series in a night that was asked for at `since`; `goes_on` false: the series is new. */
static int go_on_tonight(const char *file, int64_t since, unsigned slots_max, struct held *held, bool goes_on,
			 struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	int r = claim_series(held->series, goes_on, err);

	if (r < 0 || (r = freeze_config(held->series, &config, err)) < 0)
		return r;
	if (json_number(held->series, "since_s", 0) != (double)since)
		series_forget_pause(held->series);
	(void)series_set(held->series, "since_s", cJSON_CreateNumber((double)since));
	if ((r = slots_set(held->series, &config, slots_max, err)) < 0)
		return r;
	/* Also where this slot has nothing to do: another one may have. */
	series_set_state(held->series, SERIES_RUNNING);
	return go_on(file, held, &config, err);
}

/* Tells whether the series was stopped, or its night ended, since this same night was asked for: a trial of
 * another slot rests. */
static bool rests_tonight(const cJSON *series, int64_t since)
{
	return series_state_of(series) != SERIES_RUNNING &&
	       json_number(series, "since_s", 0) == (double)since;
}

/* Tells whether a new night takes the place of a series: none of its trials has begun, and `file` has changed
 * since. Then the mistake that kept the series from beginning may be corrected. */
static bool is_superseded(const char *file, const cJSON *series)
{
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *text = NULL;

	if (series_has_begun(series))
		return false;
	if (run_record(&record, NULL) == 0 && note_find(series, record) >= 0)
		return false;
	return file_read(file, RUN_JSON_MAX, &text, NULL, NULL) == 0 &&
	       strcmp(text, series_text(series, "config")) != 0;
}

/* Tells whether a new night is a series. `last`: the current run; its id is "" where there is none. */
static bool is_wanted(const char *file, const struct run *last)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *overrides = NULL;

	/* Errors of the file are said by what follows. */
	return (!*last->id || run_state_is_final(last->state)) && overrides_asked(&overrides, NULL) == 0 &&
	       !overrides && config_load(file, &config, NULL) == 0 && config_has_trials(&config);
}

static int begin_series(const char *file, cJSON **ret_series, struct error *err)
{
	CLEANUP(run_done) struct run last = { 0 };
	int r = run_load(&last, err);

	if ((r < 0 && r != -ENOENT) || !is_wanted(file, &last))
		return r == -ENOENT ? 0 : r;
	if ((r = freeze_series(file, last.id, ret_series, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_SERIES_BEGUN, .count = series_trials(*ret_series) },
		   "%s: %" PRIu32 " trials, %s", series_id(*ret_series), series_trials(*ret_series),
		   series_text(*ret_series, "method"));
	return 1;
}

int series_begin(const char *file, int64_t since, unsigned slots_max, struct error *err)
{
	CLEANUP(held_done) struct held held = { .lock = -1 };
	int r = series_lock(&held.lock, err);

	if (r < 0)
		return r;
	r = series_load_unfinished(&held.series, err);
	if (r == -ENOENT && (r = after_has_ended(since, err)) > 0)
		return SERIES_BEGUN_OVER;
	if (r == 0 && !held.series && (r = bring_series(file, &held.series, err)) == 0)
		r = -ENOENT;
	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0 && rests_tonight(held.series, since))
		return SERIES_BEGUN_REST;
	if (r >= 0 && is_superseded(file, held.series))
		r = end_series(held.series, SERIES_FAILED, "it never began, and kiln.conf changed", err);
	else if (r >= 0)
		r = go_on_tonight(file, since, slots_max, &held, true, err);
	if (r != 0 && r != -ENOENT)
		return r;
	json_free(&held.series);
	held.series = NULL;
	r = begin_series(file, &held.series, err);
	return r > 0 ? go_on_tonight(file, since, slots_max, &held, false, err) : r;
}

int series_go_on(const char *file, const char *id, struct error *err)
{
	CLEANUP(held_done) struct held held = { .lock = -1 };
	CLEANUP(config_done) struct config config = { 0 };
	int r = series_lock(&held.lock, err);

	if (r < 0 || (r = series_load_unfinished(&held.series, err)) < 0)
		return r == -ENOENT ? SERIES_BEGUN_OVER : r;
	if (*id && strcmp(series_id(held.series), id) != 0)
		return SERIES_BEGUN_OVER;
	if (series_state_of(held.series) != SERIES_RUNNING)
		return SERIES_BEGUN_REST;
	r = freeze_config(held.series, &config, err);
	if (r < 0 || (r = go_on(file, &held, &config, err)) != SERIES_BEGUN_NONE)
		return r;
	return series_is_given_up(held.series)
		       ? SERIES_BEGUN_OVER
		       : error_set(err, -EPERM, "slot %u has an unfinished run that is no trial of %s",
				   slot_now(), series_id(held.series));
}

int series_let_go(struct run *run, struct error *err)
{
	int r = run_note("{\"rest_after_epoch\": null}", err);

	if (r < 0)
		return r;
	log_warning("%s is a trial, and its series is not on this disk: it trains to its end", run->id);
	run->rest_after_epoch = 0;
	return 0;
}
