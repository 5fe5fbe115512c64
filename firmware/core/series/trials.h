/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/series: a night with several trials. This header: from kiln.conf to the list of trials. A trial is an
 * ordinary run whose configuration is kiln.conf with the trial's overrides.
 *
 * An override is a key and its value. The key is the dotted text of a key, "optimizer.learning_rate", the
 * attribute of a layer by the layer's name, "model.layers.dense_1.units", or a whole list: "model.layers",
 * "schema", "sources". As JSON the overrides of a trial are one object {dotted key: value}; a whole list is
 * an array of objects. A key that belongs to the box or to the series cannot be overridden:
 * trials_may_vary().
 *
 * The trials of the list `experiments` come first, in the order of the file, then those of `vary`:
 *
 *     grid       every combination of the values; the last key of the file changes fastest
 *     random     series.trials combinations, drawn with run.seed of the file, no two equal; all of them, in
 *                an order drawn with it, where series.trials is 0. A range of integers gives whole numbers
 *                with both ends, another range numbers of 6 digits
 *     halving    as random; halving.h says what runs how long
 *
 * The same file gives the same trials on every box. The trials of `vary` are named "grid-01", "random-01" or
 * "halving-01", with as many digits as the last one needs. Pure: the file is only read. No threads, no state.
 */
#pragma once

#include "core/config/config.h"

#include <cjson/cJSON.h>

#define TRIALS_MAX       1000u
#define TRIAL_NAME_BYTES 65u /* 1 .. 64 characters of [A-Za-z0-9_-], with the NUL */

struct trial {
	char name[TRIAL_NAME_BYTES];
	cJSON *overrides; /* {dotted key: value} */
};

struct trials {
	uint32_t count;
	struct trial *trial;
	const char *method; /* "list": the file has `experiments` alone; else "grid", "random" or "halving" */
	uint64_t seed;      /* run.seed of the file */
};

/* Makes the trials of a file. Owns: the caller calls trials_done(). Errors: as of config_load(): -EINVAL with
 * one line for each mistake in the file and in a trial, "FILE:LINE: trial "NAME": KEY: found ..., allowed:
 * ..."; the same mistake of several trials is told once. A file without trials gives none. */
MUST_CHECK int trials_make(const char *file, struct trials *ret, struct error *err);
void trials_done(struct trials *trials);

/* Loads the file with the overrides of one trial, each checked as the key in the file would be. The result
 * has neither experiments, vary nor the group series, and config_print() prints none of them: a trial is an
 * ordinary run. `overrides` may be NULL. The caller calls config_done(). Errors: as of config_load(). */
MUST_CHECK int trials_config(const char *file, const cJSON *overrides, struct config *ret, struct error *err);

/* Checks a file and each of its trials, and prints all mistakes to `out`: "FILE:LINE: KEY: found ...,
 * allowed: ...", the same mistake of several trials once. `check` adds the mistakes that core/config cannot
 * find. It is called for the file and for each trial, even after other mistakes: a string with a mistake is
 * then NULL, and a schema with a mistake has no features. Returns 0 or a negative errno. */
MUST_CHECK int trials_check(const char *file,
			    void (*check)(const struct config *config, struct mistakes *mistakes), FILE *out);
/* Does the same, with the mistakes in a text, which the caller frees; NULL: -ENOMEM, with its text in err. */
MUST_CHECK int trials_check_text(const char *file,
				 void (*check)(const struct config *config, struct mistakes *mistakes),
				 char **ret_text, struct error *err);

/* Tells whether a trial may override this key, a dotted key or a group. False: sink, power, update, notify,
 * control, clock, heat, series, promote, tracking, and run.name, days, at, zone, ends_at and catch_up. */
bool trials_may_vary(const char *key);
