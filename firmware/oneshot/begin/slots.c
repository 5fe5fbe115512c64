/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/slots.h"
#include "core/base/slot.h"
#include "core/box/usable.h"
#include "oneshot/series/note.h"

/* Gives a trial that a slot has left unfinished to this slot, because that slot is not used any more. */
static int take_over(cJSON *series, unsigned from, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	const unsigned mine = slot_use(from);
	enum run_state state;
	int index = -1, r = run_record(&record, err);

	if (r == 0 && (r = run_state_get(&state, err)) == 0 && !run_state_is_final(state) &&
	    (index = note_find(series, record)) >= 0)
		r = run_park(series_text(record, "id"), err);
	(void)slot_use(mine);
	if (r < 0 && r != -ENOENT)
		return r;
	if (index >= 0)
		(void)series_set(series_trial(series, (uint32_t)index), "run",
				 cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(record, "id"), false));
	for (uint32_t i = 0; i < series_trials(series); i++)
		if (trial_slot(series_trial(series, i)) == from)
			(void)series_set(series_trial(series, i), "slot", cJSON_CreateNumber(mine));
	return 0;
}

int slots_set(cJSON *series, const struct config *config, struct error *err)
{
	const unsigned devices = usable_noted();
	uint64_t slots = config->series.parallel;
	int r = 0;

	if (slots == 0 || slots > devices)
		slots = devices;
	if (slots > SLOTS_MAX)
		slots = SLOTS_MAX;
	(void)series_set(series, "slots", cJSON_CreateNumber((double)slots));
	for (unsigned slot = (unsigned)slots; r == 0 && slot < SLOTS_MAX; slot++)
		r = take_over(series, slot, err);
	return r;
}
