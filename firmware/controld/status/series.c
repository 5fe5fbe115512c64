/* SPDX-License-Identifier: Apache-2.0 */
#include "controld/status/series.h"
#include "core/series/series.h"

static cJSON *series_of(const struct view *view)
{
	CLEANUP(json_free) cJSON *series = NULL, *summary = NULL;
	const cJSON *noted = view_noted(view, "series");
	const char *id = cJSON_GetStringValue(json_member(noted, "id")),
		   *trial = cJSON_GetStringValue(json_member(noted, "trial"));

	if (!id || !trial || series_load(id, &series, NULL) < 0)
		return NULL;
	summary = series_summary(series);
	return cJSON_AddStringToObject(summary, "trial", trial) &&
			       cJSON_AddNumberToObject(summary, "number",
						       series_find_trial(series, trial) + 1)
		       ? TAKE(summary)
		       : NULL;
}

void series_add(cJSON *object, const struct view *view)
{
	cJSON *series = series_of(view);

	(void)cJSON_AddItemToObject(object, "series", series ? series : cJSON_CreateNull());
}
