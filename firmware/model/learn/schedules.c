/* SPDX-License-Identifier: Apache-2.0 */
#include "model/learn/schedules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- constant ---- */

static double constant_rate(const struct config *config, double rate, uint64_t step)
{
	(void)config;
	(void)step;
	return rate;
}

/* ---- step: Keras's PiecewiseConstantDecay ---- */

static void step_check(const struct config *config, struct mistakes *mistakes)
{
	const struct config_numbers *boundaries = &config->optimizer.boundaries,
				    *values = &config->optimizer.values;

	if (boundaries->count < 1)
		mistakes_add(
			mistakes, config_line(config, "optimizer.schedule"),
			"optimizer.boundaries: found nothing, allowed with schedule \"step\": at least one");
	if (values->count != boundaries->count + 1)
		mistakes_add(mistakes, config_line(config, "optimizer.values"),
			     "optimizer.values: found %u, allowed: %u, one more than boundaries",
			     values->count, boundaries->count + 1);
	for (uint32_t i = 0; i < boundaries->count; i++)
		if (boundaries->at[i] != floor(boundaries->at[i]) ||
		    (i && boundaries->at[i] <= boundaries->at[i - 1]))
			mistakes_add(mistakes, config_line(config, "optimizer.boundaries"),
				     "optimizer.boundaries: found %g, allowed: ascending whole steps",
				     boundaries->at[i]);
}

static double step_rate(const struct config *config, double rate, uint64_t step)
{
	const struct config_numbers *boundaries = &config->optimizer.boundaries;
	uint32_t passed = 0;

	(void)rate;
	while (passed < boundaries->count && (double)step > boundaries->at[passed])
		passed++;
	return config->optimizer.values.at[passed];
}

/* ---- cosine: Keras's CosineDecay ---- */

static void cosine_check(const struct config *config, struct mistakes *mistakes)
{
	if (config->optimizer.decay_steps < 1)
		mistakes_add(mistakes, config_line(config, "optimizer.schedule"),
			     "optimizer.decay_steps: found 0, allowed with schedule \"cosine\": at least 1");
}

static double cosine_rate(const struct config *config, double rate, uint64_t step)
{
	const uint64_t steps = config->optimizer.decay_steps;
	const double done = (double)(step < steps ? step : steps) / (double)steps;
	const double alpha = config->optimizer.alpha;

	return rate * ((1 - alpha) * 0.5 * (1 + cos(M_PI * done)) + alpha);
}

/* ---- The table ---- */

static const struct schedule schedules[] = {
	{ "constant", NULL, constant_rate },
	{ "step", step_check, step_rate },
	{ "cosine", cosine_check, cosine_rate },
};

const struct schedule *schedule_find(const char *name)
{
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++)
		if (!strcmp(schedules[i].name, name))
			return &schedules[i];
	return NULL;
}

const char *schedule_names(void)
{
	return "constant, step, cosine";
}

void schedule_check(const struct config *config, struct mistakes *mistakes)
{
	const char *name = config->optimizer.schedule;
	const struct schedule *schedule = name ? schedule_find(name) : NULL;

	if (!name)
		return;
	if (!schedule) {
		mistakes_add(mistakes, config_line(config, "optimizer.schedule"),
			     "optimizer.schedule: found \"%.100s\", allowed: %s", name, schedule_names());
		return;
	}
	if (schedule->check)
		schedule->check(config, mistakes);
}

double schedule_rate(const struct config *config, double own, uint64_t step)
{
	const struct schedule *schedule = schedule_find(config->optimizer.schedule);
	const double rate = config->optimizer.learning_rate > 0 ? config->optimizer.learning_rate : own;
	const uint64_t warmup = config->optimizer.warmup_steps;
	const double from = config->optimizer.warmup_from;

	if (step >= warmup)
		return schedule->rate(config, rate, step - warmup);
	return from + (schedule->rate(config, rate, 0) - from) * (double)step / (double)warmup;
}
