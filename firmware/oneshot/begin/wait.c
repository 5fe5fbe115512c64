/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/wait.h"
#include "core/base/log.h"
#include "drivers/notify/notify.h"

#include <string.h>
#include <unistd.h>

#define LOOK_S 1 /* between two looks at the record */

/* FNV-1a, 64 bits (draft-eastlake-fnv): a change of one byte always changes the result. */
static uint64_t add(uint64_t hash, unsigned byte)
{
	return (hash ^ byte) * 0x100000001b3u;
}

static uint64_t trials_of(const cJSON *series)
{
	uint64_t hash = add(0xcbf29ce484222325u, series_state_of(series));

	hash = add(hash, series_is_given_up(series));
	for (uint32_t i = 0; i < series_trials(series); i++) {
		const cJSON *trial = series_trial(series, i);

		hash = add(hash, trial_state_of(trial));
		hash = add(hash, trial_slot(trial));
	}
	return hash;
}

struct wait_state wait_state_now(void)
{
	CLEANUP(json_free) cJSON *series = NULL;
	struct wait_state state = { 0 };

	if (series_load_unfinished(&series, NULL) < 0)
		return state;
	(void)snprintf(state.id, sizeof(state.id), "%s", series_id(series));
	state.trials = trials_of(series);
	return state;
}

static bool is_unchanged(const struct wait_state *before)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load(before->id, &series, NULL) == 0 && trials_of(series) == before->trials;
}

void wait_for_change(const struct wait_state *before)
{
	if (!is_unchanged(before))
		return;
	log_info("%s: no trial for this slot until one of another slot ends", before->id);
	notify_status("waiting until a trial of another slot ends");
	do
		(void)sleep(LOOK_S);
	while (is_unchanged(before));
}
