/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous successive halving: which trial of a series trains next, and how far. ASHA, algorithm 2 of Li
 * et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020 (arXiv:1810.05934, 2018).
 *
 * A trial trains in rungs. Rung 0 ends after first_epochs epochs, rung k after first_epochs * reduction^k,
 * the last rung after full_epochs, the run.epochs of the configuration. A trial at the end of a rung is
 * parked. It goes on to the next rung when its value is among the best 1/reduction of all trials that have
 * ended this rung. Where no parked trial is so good, the next waiting trial begins. Nobody waits for the end
 * of a rung, so the same function serves one trainer and several.
 *
 * When no trial waits or runs any more, the best of each rung goes on even where the rung has fewer trials
 * than `reduction`, so that one trial trains to the end.
 *
 * A NaN is worse than every number, and is never promoted. Of two equal values the earlier trial is better. A
 * failed trial counts in the size of the rungs that it has ended, but is better than no other: the next best
 * takes its place.
 *
 * Pure functions of the trials' states; after a restart the same states give the same answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HALVING_RUNGS_MAX 24u /* reduction is at least 2, and epochs at most 10^6 */

struct halving {
	uint64_t first_epochs; /* series.first_rung_epochs, at least 1 */
	uint64_t full_epochs;  /* run.epochs, at least 1 */
	uint64_t reduction;    /* series.reduction, at least 2 */
	bool maximize;         /* a larger value is better */
};

enum halving_state {
	HALVING_WAITING, /* never begun */
	HALVING_RUNNING, /* trains the rung after those that it has ended */
	HALVING_PARKED,  /* has ended a rung, and waits for its promotion */
	HALVING_ENDED,   /* finished or pruned: runs no more */
	HALVING_FAILED,  /* runs no more, and has no model */
};

struct halving_trial {
	enum halving_state state;
	uint32_t rungs; /* rungs that the trial has ended, 0 .. halving_rungs() */
	/* The objective's best value up to the end of each of these rungs; NAN: none. */
	double value[HALVING_RUNGS_MAX];
};

enum halving_verdict {
	HALVING_RUN,  /* `trial` trains until `epochs` epochs are done */
	HALVING_WAIT, /* a trial that runs must end its rung first */
	HALVING_DONE, /* no trial runs any more; parked trials are pruned */
};

struct halving_next {
	enum halving_verdict verdict;
	uint32_t trial;  /* index; the trial waits, or is parked and goes on from its checkpoint */
	uint64_t epochs; /* end of its next rung, counted from the start of the run */
};

/* Return the number of rungs, 1 .. HALVING_RUNGS_MAX, and the epochs at the end of a rung, counted from 0. */
uint32_t halving_rungs(const struct halving *rule);
uint64_t halving_epochs(const struct halving *rule, uint32_t rung);

/* Says what runs next. A parallel caller sets the trial to HALVING_RUNNING and asks again. */
struct halving_next halving_next(const struct halving *rule, const struct halving_trial *trials,
				 uint32_t count);

/* Tells whether a parked trial can be promoted by no further result, even where every better trial that is
 * not at its end yet fails: it may be pruned at once. */
bool halving_lost(const struct halving *rule, const struct halving_trial *trials, uint32_t count,
		  uint32_t index);
