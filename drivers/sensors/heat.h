/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches whether processors and GPUs are too hot. kiln-traind asks between steps: it pauses while the box is
 * hot, and stops the run, with a checkpoint, where a temperature is critical.
 *
 * Why a program watches temperatures, although hardware protects itself: hardware slows down step by step,
 * and at last switches the box off, which loses the work since the last checkpoint. A pause before that point
 * costs only time. Why HEAT_COOLER: the temperature falls within seconds of a pause, so without a lower bound
 * for "cool again" the trainer would pause and resume every few seconds. Why HEAT_CRITICAL_N readings:
 * sensors give a wrong value now and then, and a single wrong value must not end the run.
 *
 * Threads: one of its own, which reads the sensors every HEAT_EVERY_MS, because a chip may take seconds to
 * answer. heat_get() tells what it found last, without a system call, and may be called from any thread.
 * Order: heat_open -> heat_get -> heat_closep. Crash: nothing is stored.
 */
#pragma once

#include "drivers/sensors/sensors.h"

#define HEAT_EVERY_MS 1000u
#define HEAT_COOLER   5.0 /* a hot sensor counts as cool again when it is so many degrees below its limit */
/* the default limit is so many degrees below the critical value, at which the hardware slows itself down */
#define HEAT_MARGIN     5.0
#define HEAT_CRITICAL_N 3u /* so many critical readings in a row mean HEAT_CRITICAL */

/* Limits in degrees Celsius. 0 = use the sensor's own values: `critical` is the sensor's critical value;
 * `hot` is HEAT_MARGIN below that or, for a GPU, the sensor's maximum where that is lower. (The maximum of a
 * CPU sensor is only the temperature at which the fans run at full speed.) A sensor without a critical value
 * then has no limit. */
struct heat_limits {
	double hot, critical;
};

enum heat_level { HEAT_FINE, HEAT_HOT, HEAT_CRITICAL };

struct heat_state {
	enum heat_level level;
	/* the sensor that is furthest above its limit; not set for HEAT_FINE */
	struct sensors_reading reading;
	double limit_celsius;       /* the limit that this sensor exceeds */
	unsigned critical_readings; /* critical readings in a row */
};

/* ---- The rule, without a thread ---- */

/* A pass over the sensors: set `limits` and `before`, call heat_pass_each() for every sensor, then
 * heat_pass_end(), which updates *state. */
struct heat_pass {
	const struct heat_limits *limits; /* array of SENSORS_COMPONENTS entries */
	const struct heat_state *before;
	struct heat_state found;
	double excess;           /* by how many degrees the sensor in `found` is above its limit */
	sensors_each *unlimited; /* called with context NULL for sensors without a limit; may be NULL */
};
void heat_pass_each(void *context, const struct sensors_reading *reading);
void heat_pass_end(struct heat_pass *pass, struct heat_state *state);

/* ---- The thread ---- */

struct heat;

/* Starts the thread. `folder` as in sensors.h; `limits`: one entry per component of the box (the entry of
 * SENSORS_OTHER is ignored); `unlimited` is called in the first pass, on that thread, for each CPU or GPU
 * sensor without a limit; `also`, if not NULL, after every pass, on that thread. Errors: -EAGAIN no thread,
 * -ENOMEM. */
MUST_CHECK int heat_open(const char *folder, const struct heat_limits limits[static SENSORS_COMPONENTS],
			 sensors_each *unlimited, void (*also)(void), struct heat **ret_heat,
			 struct error *err);
/* Gives the state that the last pass found. Where `heat` is NULL, the level is HEAT_FINE. */
void heat_get(struct heat *heat, struct heat_state *ret_state);
void heat_closep(struct heat **heat);
