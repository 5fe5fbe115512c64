/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/sensors/heat.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* ---- The rule ---- */

static double hot_from(const struct heat_limits *limits, const struct sensors_reading *reading)
{
	if (limits->hot > 0)
		return limits->hot;
	/* Where one of the two values is NAN (unknown), fmin() returns the other. */
	return fmin(reading->component == SENSORS_GPU ? reading->max_celsius : NAN,
		    reading->critical_celsius - HEAT_MARGIN);
}

void heat_pass_each(void *context, const struct sensors_reading *reading)
{
	struct heat_pass *pass = context;
	const struct heat_limits *limits = &pass->limits[reading->component];
	const struct heat_state *before = pass->before;
	const bool was_hot = before->level != HEAT_FINE && strcmp(before->reading.name, reading->name) == 0;
	const double hot = hot_from(limits, reading);
	const double critical = limits->critical > 0 ? limits->critical : reading->critical_celsius;
	enum heat_level level = HEAT_FINE;
	double limit = hot;

	if (reading->component == SENSORS_OTHER)
		return;
	if (isnan(hot) && isnan(critical) && pass->unlimited)
		pass->unlimited(NULL, reading);
	if (reading->celsius >= critical) {
		level = HEAT_CRITICAL;
		limit = critical;
	} else if (reading->celsius >= hot || (was_hot && reading->celsius > hot - HEAT_COOLER)) {
		level = HEAT_HOT;
	}
	if (level < pass->found.level || level == HEAT_FINE ||
	    (level == pass->found.level && reading->celsius - limit <= pass->excess))
		return;
	pass->found = (struct heat_state){ .level = level, .reading = *reading, .limit_celsius = limit };
	pass->excess = reading->celsius - limit;
}

void heat_pass_end(struct heat_pass *pass, struct heat_state *state)
{
	const unsigned readings = state->critical_readings;

	*state = pass->found;
	if (state->level != HEAT_CRITICAL)
		return;
	state->critical_readings = readings + 1;
	if (state->critical_readings < HEAT_CRITICAL_N)
		state->level = HEAT_HOT;
}

/* ---- The thread ---- */

/* The lock guards `state` and `quit`, and is not held while a sensor is read. */
struct heat {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool quit;
	atomic_bool fine; /* copy of state.level == HEAT_FINE, so that heat_get() usually needs no lock */
	struct heat_state state;
	struct heat_limits limits[SENSORS_COMPONENTS];
	sensors_each *unlimited; /* callback for sensors without a limit; NULL after the first pass */
	void (*also)(void);      /* callback after each pass, or NULL */
	char folder[];
};

static void wait_for_next(struct heat *heat)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HEAT_EVERY_MS / 1000;
	until.tv_nsec += HEAT_EVERY_MS % 1000 * 1000000L;
	while (!heat->quit && pthread_cond_timedwait(&heat->change, &heat->lock, &until) == 0)
		;
}

static void *watch(void *context)
{
	struct heat *heat = context;
	struct heat_state state = { 0 };

	(void)pthread_mutex_lock(&heat->lock);
	while (!heat->quit) {
		struct heat_pass pass = { .limits = heat->limits,
					  .before = &state,
					  .unlimited = heat->unlimited };

		(void)pthread_mutex_unlock(&heat->lock);
		sensors_temperatures(heat->folder, heat_pass_each, &pass);
		sensors_nvidia(heat_pass_each, &pass);
		heat_pass_end(&pass, &state);
		heat->unlimited = NULL;
		if (heat->also)
			heat->also();
		(void)pthread_mutex_lock(&heat->lock);
		heat->state = state;
		/* relaxed: a reader may see the new value a little late; the state itself is read under the
		 * lock. */
		atomic_store_explicit(&heat->fine, state.level == HEAT_FINE, memory_order_relaxed);
		wait_for_next(heat);
	}
	(void)pthread_mutex_unlock(&heat->lock);
	return NULL;
}

int heat_open(const char *folder, const struct heat_limits limits[static SENSORS_COMPONENTS],
	      sensors_each *unlimited, void (*also)(void), struct heat **ret_heat, struct error *err)
{
	struct heat *heat = calloc(1, sizeof(*heat) + strlen(folder) + 1);
	pthread_condattr_t attributes;
	int r;

	if (!heat)
		return error_set(err, -ENOMEM, "no memory to watch temperatures");
	memcpy(heat->folder, folder, strlen(folder) + 1);
	memcpy(heat->limits, limits, sizeof(heat->limits));
	heat->unlimited = unlimited;
	heat->also = also;
	atomic_init(&heat->fine, true);
	(void)pthread_mutex_init(&heat->lock, NULL);
	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&heat->change, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	r = pthread_create(&heat->thread, NULL, watch, heat);
	if (r != 0) {
		free(heat);
		return error_set(err, -r, "no thread to watch temperatures: %s", strerror(r));
	}
	*ret_heat = heat;
	return 0;
}

void heat_get(struct heat *heat, struct heat_state *ret_state)
{
	*ret_state = (struct heat_state){ 0 };
	if (!heat || atomic_load_explicit(&heat->fine, memory_order_relaxed))
		return;
	(void)pthread_mutex_lock(&heat->lock);
	*ret_state = heat->state;
	(void)pthread_mutex_unlock(&heat->lock);
}

void heat_closep(struct heat **heat)
{
	if (!*heat)
		return;
	(void)pthread_mutex_lock(&(*heat)->lock);
	(*heat)->quit = true;
	(void)pthread_cond_signal(&(*heat)->change);
	(void)pthread_mutex_unlock(&(*heat)->lock);
	(void)pthread_join((*heat)->thread, NULL);
	(void)pthread_cond_destroy(&(*heat)->change);
	(void)pthread_mutex_destroy(&(*heat)->lock);
	free(*heat);
	*heat = NULL;
}
