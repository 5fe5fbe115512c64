/* SPDX-License-Identifier: Apache-2.0 */
/* The methods that list and show the series of trials on the disk. */
#include "core/series/series.h"
#include "controld/methods/methods.h"

#include <string.h>

int method_experiments_list(struct call *call, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);
	cJSON *rows;

	if (r < 0)
		return r;
	call->result = cJSON_CreateObject();
	rows = cJSON_AddArrayToObject(call->result, "series");
	if (!rows)
		return call_no_memory(err);
	for (uint32_t i = count; i > 0; i--) {
		CLEANUP(json_free) cJSON *series = NULL;
		cJSON *row;

		/* A damaged record hides no other series. */
		if (series_load(ids[i - 1], &series, NULL) < 0)
			continue;
		row = series_summary(series);
		if (!row || !cJSON_AddItemToArray(rows, row))
			return call_no_memory(err);
	}
	return 0;
}

/* Loads the series with this id or, without one, the newest. */
static int load(const char *id, cJSON **ret_series, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint32_t count = 0;
	int r;

	if (id)
		return series_load(id, ret_series, err);
	r = series_list(&ids, &count, err);
	if (r == 0 && count == 0)
		return error_set(err, -ENOENT, "there is no series on this box yet");
	return r < 0 ? r : series_load(ids[count - 1], ret_series, err);
}

int method_experiments_show(struct call *call, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	const char *id = control_text(&call->request, "id", NULL);
	int r = load(id, &series, err);

	if (r == -ENOENT) {
		call->code = CONTROL_NOT_FOUND;
		return id ? error_set(err, r, "there is no series %s on this box", id) : r;
	}
	if (r < 0)
		return r;
	call->result = cJSON_CreateObject();
	return cJSON_AddItemToObject(call->result, "series", TAKE(series)) ? 0 : call_no_memory(err);
}
