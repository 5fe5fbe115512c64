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

/* ---- Schedules that have an end: they read optimizer.decay_steps ---- */

static void check_steps(const struct config *config, struct mistakes *mistakes)
{
	if (config->optimizer.decay_steps < 1)
		mistakes_add(mistakes, config_line(config, "optimizer.schedule"),
			     "optimizer.decay_steps: found 0, allowed with schedule \"%s\": at least 1",
			     config->optimizer.schedule);
}

/* Returns how much of decay_steps is done: 0 .. 1. */
static double done(const struct config *config, uint64_t step)
{
	const uint64_t steps = config->optimizer.decay_steps;

	return (double)(step < steps ? step : steps) / (double)steps;
}

/* Returns the rate that is `left`, 1 .. 0, of the way above the last rate. */
static double above_last(const struct config *config, double rate, double left)
{
	return rate * ((1 - config->optimizer.alpha) * left + config->optimizer.alpha);
}

/* Returns 1 .. 0 along half a cosine. */
static double cosine(double part)
{
	return 0.5 * (1 + cos(M_PI * part));
}

/* Keras's CosineDecay. */
static double cosine_rate(const struct config *config, double rate, uint64_t step)
{
	return above_last(config, rate, cosine(done(config, step)));
}

/* Keras's PolynomialDecay without `cycle`. */
static double polynomial_rate(const struct config *config, double rate, uint64_t step)
{
	return above_last(config, rate, pow(1 - done(config, step), config->optimizer.power));
}

static double linear_rate(const struct config *config, double rate, uint64_t step)
{
	return above_last(config, rate, 1 - done(config, step));
}

/* Keras's CosineDecayRestarts: each period is t_mul times as long as the one before, and begins at m_mul
 * times its rate. Periods that all have the same length are counted by a division. */
static double restarts_rate(const struct config *config, double rate, uint64_t step)
{
	double in_period = (double)step / (double)config->optimizer.decay_steps, length = 1, height = 1;

	if (config->optimizer.t_mul == 1) {
		height = pow(config->optimizer.m_mul, floor(in_period));
		in_period -= floor(in_period);
	}
	while (in_period >= length) {
		in_period -= length;
		length *= config->optimizer.t_mul;
		height *= config->optimizer.m_mul;
	}
	return above_last(config, rate, height * cosine(in_period / length));
}

/* PyTorch's OneCycleLR with its defaults: the rate rises from 1/25 of the largest in the first 30 % of the
 * steps, then falls to 1/10000 of the first. */
static double one_cycle_rate(const struct config *config, double rate, uint64_t step)
{
	const double steps = (double)config->optimizer.decay_steps, top = 0.3 * steps - 1, last = steps - 1,
		     at = fmin((double)step, last), first = rate / 25, least = first / 1e4;

	if (at <= top)
		return rate + (first - rate) * cosine(top > 0 ? at / top : 1);
	return least + (rate - least) * cosine(last > top ? (at - top) / (last - top) : 1);
}

/* ---- The table ---- */

static const struct schedule schedules[] = {
	{ "constant", NULL, constant_rate },
	{ "step", step_check, step_rate },
	{ "cosine", check_steps, cosine_rate },
	{ "linear", check_steps, linear_rate },
	{ "polynomial", check_steps, polynomial_rate },
	{ "cosine_restarts", check_steps, restarts_rate },
	{ "one_cycle", check_steps, one_cycle_rate },
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
	return "constant, step, cosine, linear, polynomial, cosine_restarts, one_cycle";
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
