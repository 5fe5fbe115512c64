/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/series.h"
#include "controld/status/beside.h"
#include "controld/status/figure.h"
#include "core/series/series.h"

#include <math.h>

/* Loads the series of the run or, between two trials, the unfinished one. *ret_trial: the trial of the run;
 * NULL = between two. */
static bool find(const struct view *view, cJSON **ret_series, const char **ret_trial)
{
	const cJSON *noted = view_noted(view, "series");
	const char *id = cJSON_GetStringValue(json_member(noted, "id"));

	*ret_trial = cJSON_GetStringValue(json_member(noted, "trial"));
	if (id && *ret_trial && series_load(id, ret_series, NULL) == 0)
		return true;
	*ret_trial = NULL;
	return series_load_unfinished(ret_series, NULL) == 0;
}

static cJSON *series_of(const struct view *view)
{
	CLEANUP(json_free) cJSON *series = NULL, *summary = NULL;
	const char *trial, *next;
	int index;

	if (!find(view, &series, &trial))
		return NULL;
	next = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(series, "next"));
	index = series_find_trial(series, trial ? trial : next ? next : "");
	summary = series_summary(series);
	figure_text(summary, "trial", trial);
	figure_text(summary, "next", next);
	figure_number(summary, "number", index < 0 ? (double)NAN : index + 1);
	beside_add(summary, series);
	return TAKE(summary);
}

void series_add(cJSON *object, const struct view *view)
{
	cJSON *series = series_of(view);

	(void)cJSON_AddItemToObject(object, "series", series ? series : cJSON_CreateNull());
}
