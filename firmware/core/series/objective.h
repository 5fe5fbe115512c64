/* SPDX-License-Identifier: Apache-2.0 */
/* The objective of a series: the figure by which its trials are compared, and in which direction. Pure. */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"

/* The figure of an objective in a run: a member of each epoch, or of metrics.test. */
struct objective {
	const char *name;   /* "validation.accuracy" ..., a string constant */
	const char *member; /* its member in "epochs" or in "metrics"."test" */
	bool test;          /* a figure of the test, which a run has once, at its end */
	bool maximize;      /* a larger value is better */
};

/* Returns the row of an objective of the configuration; not of OBJECTIVE_AUTO, which the model resolves
 * (model/learn/objective.h). */
const struct objective *objective_row(enum config_objective objective);

/* Finds an objective by its name, with "max" for an accuracy and "min" for a loss. Returns false where there
 * is none. */
bool objective_find(const char *name, struct objective *ret_objective);

/* Finds the best value of a run, from its run.json: the best of its epochs before the number `epochs` (0 =
 * all), or that of the test. *ret_epoch: the epoch, counted from 1; 0 for the test. Returns false where the
 * run has no value; a NaN is none. */
bool objective_best(const struct objective *objective, const cJSON *record, uint64_t epochs,
		    double *ret_value, uint64_t *ret_epoch);

#define OBJECTIVE_POINTS_MAX 64u
/* Returns the objective by epoch, from the run.json of a run: [[epoch, value]], with epochs counted from 1,
 * values of 6 digits, and null for a value that the epoch does not have. Of more than OBJECTIVE_POINTS_MAX
 * epochs it has that many, the first and the last one among them. An objective of the test has none. The
 * caller frees it. NULL: no memory. */
cJSON *objective_curve(const struct objective *objective, const cJSON *record);
