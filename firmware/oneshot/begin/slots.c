/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/slots.h"
#include "core/base/log.h"
#include "core/base/slot.h"
#include "core/box/usable.h"
#include "core/run/spool.h"
#include "oneshot/boot/release.h"
#include "oneshot/series/after.h"
#include "oneshot/series/move.h"
#include "oneshot/series/note.h"

/* Fails the current run of this slot, which is unfinished and belongs to no unfinished series: nobody would
 * go on with it, and it would keep the slot from working. */
static int fail_stray(const cJSON *record, struct error *err)
{
	int r = run_end(RUN_FAILED, "its series has ended", err);

	if (r < 0)
		return r;
	log_warning("%s: slot %u has left it unfinished, and its series has ended; it has failed",
		    series_text(record, "id"), slot_now());
	return run_archive(err);
}

/* Parks the run of a slot that is not used any more. Errors: -EBUSY its trainer of the night before works
 * still. */
static int park(cJSON *series, uint32_t index, const cJSON *record, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	const char *id = series_text(record, "id");
	int r = spool_make(id, err);

	if (r == 0 && (r = spool_lock_run(id, &lock, err)) == -EBUSY)
		(void)error_prefix(err, "slot %u is not used any more", slot_now());
	return r < 0 ? r : move_park(series, index, record, err);
}

/* Puts the current run of this slot in order. `used`: the slot works on the series tonight. */
static int tidy(cJSON *series, const struct config *config, bool used, struct error *err)
{
	CLEANUP(json_free) cJSON *record = NULL;
	enum run_state state;
	int index, r;

	if ((r = run_record(&record, err)) < 0 || (r = run_state_get(&state, err)) < 0)
		return r == -ENOENT ? 0 : r;
	index = note_find(series, record);
	if (run_state_is_final(state))
		return used ? 0 : after_final_run(series, config, err);
	if (index < 0)
		return fail_stray(record, err);
	return used ? 0 : park(series, (uint32_t)index, record, err);
}

/* Gives the trials of a slot that is not used any more to slot 0. */
static void move_trials(cJSON *series, unsigned from)
{
	for (uint32_t i = 0; i < series_trials(series); i++) {
		cJSON *trial = series_trial(series, i);

		if (trial_slot(trial) == from && trial_state_of(trial) == TRIAL_RUNNING)
			move_trial(trial);
	}
}

int slots_set(cJSON *series, const struct config *config, unsigned slots_max, struct error *err)
{
	const unsigned devices = usable_noted(), mine = slot_now();
	uint64_t slots = config->series.parallel;
	int r = 0;

	if (slots == 0 || slots > devices)
		slots = devices;
	if (slots > slots_max)
		slots = slots_max;
	(void)series_set(series, "slots", cJSON_CreateNumber((double)slots));
	for (unsigned slot = 1; r == 0 && slot < SLOTS_MAX; slot++) {
		(void)slot_use(slot);
		r = tidy(series, config, slot < slots, err);
		(void)slot_use(mine);
		if (r == 0 && slot >= slots)
			move_trials(series, slot);
	}
	release_slots((unsigned)slots);
	return r;
}
