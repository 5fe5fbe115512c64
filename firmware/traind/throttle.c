/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/throttle.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/sensors/heat.h"
#include "traind/gpu_memory.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>

#define NAP_MS      100u
#define SPELL_S     10u  /* a spell (a series of pauses) ends after this time without a pause */
#define SAY_AGAIN_S 600u /* shortest time between two events about being too hot */

static void say_unlimited(void *context, const struct sensors_reading *reading)
{
	(void)context;
	log_notice("%s: %.0f C, and its limit is not known: heat.%s_stop_celsius can set one", reading->name,
		   reading->celsius, reading->component == SENSORS_CPU ? "cpu" : "gpu");
}

int throttle_open(struct train *train, struct error *err)
{
	const struct config *config = &train->run.config;
	const struct heat_limits limits[SENSORS_COMPONENTS] = {
		[SENSORS_CPU] = { (double)config->heat.cpu_throttle_celsius,
				  (double)config->heat.cpu_stop_celsius },
		[SENSORS_GPU] = { (double)config->heat.gpu_throttle_celsius,
				  (double)config->heat.gpu_stop_celsius },
	};
	char folder[PATH_BYTES];

	return heat_open(path_of(PATH_HWMON, NULL, folder), limits, say_unlimited, gpu_memory_look,
			 &train->throttle.heat, err);
}

void throttle_close(struct train *train)
{
	heat_closep(&train->throttle.heat);
}

/* ---- Events ---- */

static void say_hot(struct train *train, const struct heat_state *state)
{
	struct throttle *throttle = &train->throttle;
	const uint64_t now = clock_us();

	publish_phase(train, "throttled", "%s is at %.0f C, limit %.0f C: pausing between steps",
		      state->reading.name, state->reading.celsius, state->limit_celsius);
	if (throttle->said_us && now - throttle->said_us < SAY_AGAIN_S * UINT64_C(1000000))
		return;
	throttle->said_us = now;
	event_send(&(struct event){ .id = EVENT_HEAT_THROTTLED,
				    .run_id = train->run.id,
				    .step = model_step(train->model),
				    .sensor = state->reading.name,
				    .celsius = state->reading.celsius,
				    .limit = state->limit_celsius },
		   "%s is at %.0f C, limit %.0f C: pausing between steps until it is %.0f C",
		   state->reading.name, state->reading.celsius, state->limit_celsius,
		   state->limit_celsius - HEAT_COOLER);
}

static void end_spell(struct train *train)
{
	struct throttle *throttle = &train->throttle;
	const uint64_t seconds = throttle->paused_us / 1000000;

	throttle->paused_us = 0;
	event_send(&(struct event){ .id = EVENT_HEAT_COOLED,
				    .run_id = train->run.id,
				    .step = model_step(train->model),
				    .seconds = seconds },
		   "cool again, after pauses of %" PRIu64 " s together", seconds);
}

static int stop(struct train *train, const struct heat_state *state, struct error *err)
{
	struct error reason, state_err;

	(void)error_set(&reason, 0, "too hot: %s is at %.0f C, above its critical limit of %.0f C",
			state->reading.name, state->reading.celsius, state->limit_celsius);
	if (world_leads(&train->world) && run_reason_set(reason.text, &state_err) < 0)
		log_warning("%s; the run stops without its reason", state_err.text);
	event_send(&(struct event){ .id = EVENT_HEAT_STOPPED,
				    .run_id = train->run.id,
				    .step = model_step(train->model),
				    .sensor = state->reading.name,
				    .celsius = state->reading.celsius,
				    .limit = state->limit_celsius },
		   "%s; stopping with a checkpoint", reason.text);
	return want_leave(train, RUN_STOPPED, reason.text, err);
}

/* ---- Pauses ---- */

static int pause_a_while(struct train *train, struct error *err)
{
	struct throttle *throttle = &train->throttle;
	const enum stage before = stages_enter(&train->stages, STAGE_PAUSED);
	const uint64_t start = clock_us();
	struct heat_state state;
	bool hot = true, wanted = false;
	uint64_t paused_us;
	int r = 0;

	while (r == 0 && hot && !wanted && clock_us() - start < THROTTLE_MAX_S * UINT64_C(1000000)) {
		if ((r = wait_ms(train, NAP_MS, err)) == 0)
			r = want_check_in_wait(train, &wanted, err);
		heat_get(throttle->heat, &state);
		hot = state.level == HEAT_HOT;
	}
	(void)stages_enter(&train->stages, before);
	paused_us = clock_us() - start;
	throttle->paused_us += paused_us;
	throttle->hot_us = clock_us();
	publish_throttled(train, paused_us);
	train->publish.times.device_us += paused_us; /* the phase "throttled" ended the time of a batch */
	record_changed(train);
	return r;
}

int throttle(struct train *train, struct error *err)
{
	struct throttle *throttle = &train->throttle;
	struct heat_state state;

	heat_get(throttle->heat, &state);
	if (state.level == HEAT_CRITICAL)
		return stop(train, &state, err);
	if (state.level == HEAT_HOT) {
		say_hot(train, &state);
		return pause_a_while(train, err);
	}
	if (throttle->paused_us && clock_us() - throttle->hot_us > SPELL_S * UINT64_C(1000000))
		end_spell(train);
	return 0;
}
