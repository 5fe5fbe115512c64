/* SPDX-License-Identifier: Apache-2.0 */
#include "core/series/halving.h"

#include <math.h>

/* ---- Rungs ---- */

uint64_t halving_epochs(const struct halving *rule, uint32_t rung)
{
	uint64_t epochs = rule->first_epochs;

	while (rung-- > 0 && epochs < rule->full_epochs)
		epochs *= rule->reduction;
	return epochs < rule->full_epochs ? epochs : rule->full_epochs;
}

uint32_t halving_rungs(const struct halving *rule)
{
	uint32_t rungs = 1;

	while (rungs < HALVING_RUNGS_MAX && halving_epochs(rule, rungs - 1) < rule->full_epochs)
		rungs++;
	return rungs;
}

/* ---- The order within a rung ---- */

static bool has_ended(const struct halving_trial *trial, uint32_t rung)
{
	return trial->rungs > rung;
}

/* Tells whether trial a is better than trial b at the end of the rung. */
static bool is_better(const struct halving *rule, const struct halving_trial *trials, uint32_t a, uint32_t b,
		      uint32_t rung)
{
	const double x = trials[a].value[rung], y = trials[b].value[rung];

	if (isnan(x) || isnan(y))
		return isnan(x) == isnan(y) ? a < b : isnan(y);
	if (x != y)
		return rule->maximize ? x > y : x < y;
	return a < b;
}

/* Returns the trials that have ended the rung and are better than this trial. A failed one is none of them.
 * `sure`: only those that cannot fail any more. */
static uint32_t count_better(const struct halving *rule, const struct halving_trial *trials, uint32_t count,
			     uint32_t index, uint32_t rung, bool sure)
{
	uint32_t better = 0;

	for (uint32_t i = 0; i < count; i++)
		better += i != index && trials[i].state != HALVING_FAILED &&
			  (!sure || trials[i].state == HALVING_ENDED) && has_ended(&trials[i], rung) &&
			  is_better(rule, trials, i, index, rung);
	return better;
}

static uint32_t count_ended(const struct halving_trial *trials, uint32_t count, uint32_t rung)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < count; i++)
		ended += has_ended(&trials[i], rung);
	return ended;
}

/* ---- The next trial ---- */

static uint32_t find_state(const struct halving_trial *trials, uint32_t count, enum halving_state state)
{
	uint32_t i = 0;

	while (i < count && trials[i].state != state)
		i++;
	return i;
}

/* Finds the best parked trial that may go on from the end of this rung: it is among the best 1/reduction,
 * which are `least` or more. Returns `count` where there is none. */
static uint32_t find_promotable(const struct halving *rule, const struct halving_trial *trials,
				uint32_t count, uint32_t rung, uint64_t least)
{
	const uint64_t share = count_ended(trials, count, rung) / rule->reduction,
		       promoted = share > least ? share : least;
	uint32_t best = count;

	for (uint32_t i = 0; i < count; i++)
		if (trials[i].state == HALVING_PARKED && trials[i].rungs == rung + 1 &&
		    !isnan(trials[i].value[rung]) &&
		    count_better(rule, trials, count, i, rung, false) < promoted &&
		    (best == count || is_better(rule, trials, i, best, rung)))
			best = i;
	return best;
}

struct halving_next halving_next(const struct halving *rule, const struct halving_trial *trials,
				 uint32_t count)
{
	const uint32_t waiting = find_state(trials, count, HALVING_WAITING);
	const bool running = find_state(trials, count, HALVING_RUNNING) < count,
		   last = waiting == count && !running;

	/* The highest rung first, as in the paper. A trial that has ended the last rung is not parked. */
	for (uint32_t rung = halving_rungs(rule) - 1; rung-- > 0;) {
		const uint32_t best = find_promotable(rule, trials, count, rung, last ? 1 : 0);

		if (best < count)
			return (struct halving_next){ .verdict = HALVING_RUN,
						      .trial = best,
						      .epochs = halving_epochs(rule, rung + 1) };
	}
	if (waiting < count)
		return (struct halving_next){ .verdict = HALVING_RUN,
					      .trial = waiting,
					      .epochs = halving_epochs(rule, 0) };
	return (struct halving_next){ .verdict = running ? HALVING_WAIT : HALVING_DONE };
}

bool halving_lost(const struct halving *rule, const struct halving_trial *trials, uint32_t count,
		  uint32_t index)
{
	const struct halving_trial *trial = &trials[index];
	uint32_t rung, possible = 0;

	if (trial->state != HALVING_PARKED || trial->rungs == 0)
		return false;
	rung = trial->rungs - 1;
	for (uint32_t i = 0; i < count; i++)
		possible += has_ended(&trials[i], rung) || trials[i].state < HALVING_ENDED;
	if (possible < rule->reduction)
		possible = (uint32_t)rule->reduction;
	return isnan(trial->value[rung]) ||
	       count_better(rule, trials, count, index, rung, true) >= possible / rule->reduction;
}
