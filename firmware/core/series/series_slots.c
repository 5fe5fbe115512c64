/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a person, and of slot 0, to all slots. */
#include "core/base/paths.h"
#include "core/series/series.h"

int series_ask_slots(struct error *err)
{
	char path[PATH_BYTES];

	return series_slots_tonight() == 1
		       ? 0
		       : file_write_durable(path_of(PATH_RUNS, SERIES_START_FILE, path), "", 0, err);
}

static int go_on(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_lock_soon(&lock, err);

	if (r < 0 || (r = series_load_unfinished(&series, err)) < 0)
		return r == -ENOENT ? 0 : r;
	if (series_slots(series) == 1 || series_state_of(series) != SERIES_STOPPED)
		return 0;
	series_set_state(series, SERIES_RUNNING);
	return series_write(series, err);
}

int series_ask_slots_again(struct error *err)
{
	int r = go_on(err);

	return r < 0 ? r : series_ask_slots(err);
}

bool series_is_paused(const cJSON *series)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(series, "paused"));
}

void series_forget_pause(cJSON *series)
{
	cJSON_DeleteItemFromObjectCaseSensitive(series, "paused");
}

/* Writes the member "paused". */
static int note_paused(bool paused, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *series = NULL;
	int r = series_lock_soon(&lock, err);

	if (r < 0 || (r = series_load_unfinished(&series, err)) < 0)
		return r == -ENOENT ? 0 : r;
	series_forget_pause(series);
	if (paused && !series_set(series, "paused", cJSON_CreateTrue()))
		return error_set(err, -ENOMEM, "series.json: no memory");
	return series_write(series, err);
}

int series_pause(bool paused, struct error *err)
{
	CLEANUP(json_free) cJSON *series = NULL;
	int several, r = series_load_unfinished(&series, err);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	several = series_slots(series) > 1 && series_state_of(series) == SERIES_RUNNING;
	if (series_is_paused(series) == paused || (paused && !several))
		return several;
	return (r = note_paused(paused, err)) < 0 ? r : several;
}
