/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/obey.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "drivers/notify/alive.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>

#define LOOK_US 200000u

/* The box may be switched off during a pause: the checkpoint is on the disk before. */
int pause_begin(struct train *train, struct error *err)
{
	int r = save_checkpoint(train, true, err);

	if (r < 0)
		return r;
	writer_wait(train);
	train->want.before = stages_enter(&train->stages, STAGE_PAUSED);
	publish_phase(train, "paused", "at step %" PRIu64 ", until kiln resume", model_step(train->model));
	if (!world_leads(&train->world))
		return 0;
	if ((r = run_state_set(RUN_PAUSED, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_PAUSED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "paused at step %" PRIu64, model_step(train->model));
	return 0;
}

int pause_end(struct train *train, struct error *err)
{
	(void)stages_enter(&train->stages, train->want.before);
	publish_phase(train, "training", "going on");
	if (!world_leads(&train->world))
		return 0;
	event_send(&(struct event){ .id = EVENT_RUN_RESUMED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "going on at step %" PRIu64, model_step(train->model));
	return run_state_set(RUN_RUNNING, err);
}

static int pause_run(struct train *train, struct error *err)
{
	struct run_want want = { .state = RUN_PAUSED };
	int r = pause_begin(train, err);

	while (r == 0 && (r = want_check(train, &want, err)) == 0 && want.state == RUN_PAUSED) {
		r = wait_ms(train, LOOK_US / 1000, err);
		(void)want_look(train, &want);
	}
	if (r < 0) {
		(void)stages_enter(&train->stages, train->want.before);
		return r;
	}
	return pause_end(train, err);
}

int obey(struct train *train, struct error *err)
{
	struct run_want want;
	int r;

	alive_tick(train->worker);
	if (!world_leads(&train->world))
		return throttle(train, err);
	if (clock_us() - train->want.looked_us < LOOK_US)
		return 0;
	if (!want_look(train, &want))
		return throttle(train, err);
	if (want.checkpoint_seq != train->want.checkpoint_seq)
		train->save.due = true;
	train->want.checkpoint_seq = want.checkpoint_seq;
	r = want_check(train, &want, err);
	train->want.pause = want.state == RUN_PAUSED;
	if (r == 0 && train->want.pause && train->world.count == 1)
		r = pause_run(train, err);
	return r == 0 ? throttle(train, err) : r;
}
