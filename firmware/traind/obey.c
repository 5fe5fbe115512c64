/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/obey.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "drivers/notify/alive.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>

#define LOOK_US 200000u

/* Writes a checkpoint, then waits: the box may be switched off during a pause. */
static int pause_run(struct train *train, struct error *err)
{
	struct run_want want = { .state = RUN_PAUSED };
	const enum stage before = train->stages.now;
	int r;

	if ((r = save_checkpoint(train, true, err)) < 0)
		return r;
	writer_wait(train);
	if ((r = run_state_set(RUN_PAUSED, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_PAUSED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "paused at step %" PRIu64, model_step(train->model));
	(void)stages_enter(&train->stages, STAGE_PAUSED);
	publish_phase(train, "paused", "at step %" PRIu64 ", until kiln resume", model_step(train->model));
	while ((r = want_check(train, &want, err)) == 0 && want.state == RUN_PAUSED) {
		if ((r = wait_ms(train, LOOK_US / 1000, err)) < 0)
			return r;
		(void)want_look(train, &want);
	}
	(void)stages_enter(&train->stages, before);
	if (r < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_RESUMED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "going on at step %" PRIu64, model_step(train->model));
	r = run_state_set(RUN_RUNNING, err);
	publish_phase(train, "training", "going on");
	return r;
}

int obey(struct train *train, struct error *err)
{
	struct run_want want;
	int r;

	alive_tick(train->worker);
	if (clock_us() - train->want.looked_us < LOOK_US)
		return 0;
	if (!want_look(train, &want))
		return throttle(train, err);
	if (want.checkpoint_seq != train->want.checkpoint_seq)
		train->save.due = true;
	train->want.checkpoint_seq = want.checkpoint_seq;
	r = want_check(train, &want, err);
	if (r == 0 && want.state == RUN_PAUSED)
		r = pause_run(train, err);
	return r == 0 ? throttle(train, err) : r;
}
