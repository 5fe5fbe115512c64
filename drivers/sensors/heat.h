/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether processors and GPUs are too hot: a thread reads the sensors every HEAT_EVERY_MS, and heat_get()
 * tells what it found last, without a system call.
 *
 * Order: heat_open -> heat_get, any thread -> heat_closep.
 */
#pragma once

#include "drivers/sensors/sensors.h"

#define HEAT_EVERY_MS   1000u
#define HEAT_COOLER     5.0 /* below its limit: a sensor that was hot is so until then */
#define HEAT_MARGIN     5.0 /* below what is critical for the hardware, which throttles itself there */
#define HEAT_CRITICAL_N 3u  /* readings in a row: one alone may be wrong, or a spike */

/* Celsius; 0 = by the sensor: hot from a GPU's own maximum or HEAT_MARGIN below what is critical for it, the
 * lower of them; a CPU's maximum is where its fans run at full speed, and no limit. A sensor that names no
 * limit then has none. */
struct heat_limits {
	double hot, critical;
};

enum heat_level { HEAT_FINE, HEAT_HOT, HEAT_CRITICAL };

struct heat_state {
	enum heat_level level;
	struct sensors_reading reading; /* the worst sensor's, where it is not fine */
	double limit_celsius;           /* that it is above */
	unsigned critical_readings;     /* in a row */
};

/* ---- The rule alone ---- */

/* One pass over the sensors: begin, each of them, end, where *state becomes the new one. */
struct heat_pass {
	const struct heat_limits *limits; /* SENSORS_PARTS of them */
	const struct heat_state *before;
	struct heat_state found;
	double excess;           /* of the sensor found */
	sensors_each *unlimited; /* with NULL; may be NULL itself */
};
void heat_pass_each(void *context, const struct sensors_reading *reading);
void heat_pass_end(struct heat_pass *pass, struct heat_state *state);

/* ---- The thread ---- */

struct heat;

/* `folder` as in sensors.h; `limits`: one for each part, of which SENSORS_OTHER's is not looked at;
 * `unlimited` hears once, on the thread that reads, of each sensor of the others that no limit is known of.
 * Errors: -EAGAIN no thread, -ENOMEM. */
MUST_CHECK int heat_open(const char *folder, const struct heat_limits limits[static SENSORS_PARTS],
			 sensors_each *unlimited, struct heat **ret_heat, struct error *err);
/* NULL is fine. */
void heat_get(struct heat *heat, struct heat_state *ret_state);
void heat_closep(struct heat **heat);
