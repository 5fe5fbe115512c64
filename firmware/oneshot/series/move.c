/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/series/move.h"
#include "oneshot/series/note.h"

int move_park(cJSON *series, uint32_t index, const cJSON *record, struct error *err)
{
	int r;

	(void)series_set(series_trial(series, index), "run",
			 cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(record, "id"), false));
	r = series_write(series, err);
	return r < 0 ? r : run_park(series_text(record, "id"), err);
}

void move_trial(cJSON *trial)
{
	(void)series_set(trial, "slot", cJSON_CreateNumber(0));
	(void)series_set(trial, "moved", cJSON_CreateTrue());
}

int move_current(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL, *record = NULL;
	int index, r = series_lock(&lock, err);
	enum run_state state;

	if (r < 0 || (r = series_load_unfinished(&series, err)) < 0 || (r = run_state_get(&state, err)) < 0 ||
	    (r = run_record(&record, err)) < 0)
		return r == -ENOENT ? 0 : r;
	index = note_find(series, record);
	if (index < 0 || run_state_is_final(state))
		return 0;
	if ((r = move_park(series, (uint32_t)index, record, err)) < 0)
		return r;
	move_trial(series_trial(series, (uint32_t)index));
	return series_write(series, err);
}
