/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "traind/train.h"

#include <inttypes.h>
#include <time.h>

#define LOOK_US 200000u

/* A want file that cannot be read changes nothing: the run goes on as it is. */
static bool look(struct train *train, struct run_want *ret_want)
{
	struct obey *obey = &train->obey;
	struct error err;

	obey->looked_us = clock_us();
	if (run_want_get(ret_want, &err) == 0) {
		obey->unreadable = false;
		return true;
	}
	if (!obey->unreadable)
		log_warning("%s; going on", err.text);
	obey->unreadable = true;
	return false;
}

void obey_open(struct train *train)
{
	struct run_want want = { 0 };

	(void)look(train, &want);
	train->obey.checkpoint_seq = want.checkpoint_seq; /* asked of the process before this one */
	train->obey.looked_us = 0;                        /* before the first step, too */
}

int obey_leave(struct train *train, enum run_state rest, const char *why, struct error *err)
{
	struct error state_err;

	train->rest = rest;
	if (rest == RUN_STOPPED && run_state_set(RUN_STOPPING, &state_err) < 0)
		log_warning("%s", state_err.text);
	return error_set(err, -ECANCELED, "%s", why);
}

/* In time: what the last checkpoint took is left for another, twice that, and a second. */
static bool night_is_over(struct train *train)
{
	const uint64_t reserve_us = 2 * saver_took_us(train) + 1000000;

	return train->run.ends_s && time(NULL) + (time_t)(reserve_us / 1000000) >= train->run.ends_s;
}

static int must_leave(struct train *train, const struct run_want *want, struct error *err)
{
	if (want->state == RUN_STOPPED)
		return obey_leave(train, RUN_STOPPED, "asked to stop", err);
	return night_is_over(train) ? obey_leave(train, RUN_EXPIRED, "the night is over", err) : 0;
}

/* Everything is on the disk while it waits, so the box may be switched off. */
static int pause_run(struct train *train, struct error *err)
{
	struct run_want want = { .state = RUN_PAUSED };
	const enum stage before = train->stages.now;
	int r;

	if ((r = save_checkpoint(train, true, err)) < 0)
		return r;
	saver_wait(train);
	if ((r = run_state_set(RUN_PAUSED, err)) < 0)
		return r;
	event_send(&(struct event){ .id = EVENT_RUN_PAUSED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "paused at step %" PRIu64, model_step(train->model));
	(void)stages_enter(train, STAGE_PAUSED);
	publish_phase(train, "paused", "at step %" PRIu64 ", until run.resume", model_step(train->model));
	while ((r = must_leave(train, &want, err)) == 0 && want.state == RUN_PAUSED) {
		if ((r = train_nap(train, LOOK_US / 1000, err)) < 0)
			return r;
		(void)look(train, &want);
	}
	(void)stages_enter(train, before);
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

int obey_early(struct train *train, struct error *err)
{
	struct run_want want;
	bool known = look(train, &want);

	train->obey.looked_us = 0; /* and once more before the first step */
	return known ? must_leave(train, &want, err) : 0;
}

int obey_look(struct train *train, bool *ret_more, struct error *err)
{
	struct run_want want;

	*ret_more = false;
	if (!look(train, &want))
		return 0;
	train->obey.looked_us = 0; /* obey() looks for itself */
	*ret_more = want.state == RUN_PAUSED || want.checkpoint_seq != train->obey.checkpoint_seq;
	return must_leave(train, &want, err);
}

int obey(struct train *train, struct error *err)
{
	struct run_want want;
	int r;

	alive_tick(train->worker);
	if (clock_us() - train->obey.looked_us < LOOK_US)
		return 0;
	if (!look(train, &want))
		return throttle(train, err);
	if (want.checkpoint_seq != train->obey.checkpoint_seq)
		train->checkpoint_due = true;
	train->obey.checkpoint_seq = want.checkpoint_seq;
	r = must_leave(train, &want, err);
	if (r == 0 && want.state == RUN_PAUSED)
		r = pause_run(train, err);
	return r == 0 ? throttle(train, err) : r;
}
