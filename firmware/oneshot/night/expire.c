/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/night/expire.h"
#include "core/base/events.h"
#include "core/box/night.h"
#include "oneshot/series/freeze.h"

#include <time.h>

/* Loads the configuration of the unfinished series or, without one, of the file. */
static int load_config(const char *file, struct config *ret_config)
{
	CLEANUP(json_free) cJSON *series = NULL;

	return series_load_unfinished(&series, NULL) == 0 ? freeze_config(series, ret_config, NULL)
							  : config_load(file, ret_config, NULL);
}

bool expire_is_due(const char *file, int64_t since)
{
	CLEANUP(run_done) struct run run = { 0 };
	CLEANUP(config_done) struct config config = { 0 };
	const struct config *which = &run.config;
	int64_t ends;

	if (run_load(&run, NULL) < 0 || run_state_is_final(run.state)) {
		/* No error here: kiln-oneshot begin reports what is wrong with the file. */
		if (load_config(file, &config) < 0)
			return false;
		which = &config;
	}
	ends = night_end(which, since);
	return ends && time(NULL) >= ends;
}

bool expire_is_interrupted(enum run_state state)
{
	return state == RUN_RUNNING || state == RUN_PAUSED || state == RUN_STOPPING;
}

int expire_run(const struct run *run, struct error *err)
{
	bool expired;
	int r = run_expire(run, &expired, err);

	if (r == 0 && expired)
		event_send(&(struct event){ .id = EVENT_RUN_EXPIRED, .run_id = run->id },
			   "%s: the night is over; the next night goes on with the run's newest checkpoint",
			   run->id);
	return r;
}

int expire_asked(bool says, struct error *err)
{
	CLEANUP(run_done) struct run run = { 0 };

	if (says)
		event_send(&(struct event){ .id = EVENT_NIGHT_OVER },
			   "no run: run.ends_at came before the run that was asked for could begin");
	run_asked_over(true);
	return run_load(&run, NULL) == 0 && expire_is_interrupted(run.state) ? expire_run(&run, err) : 0;
}
