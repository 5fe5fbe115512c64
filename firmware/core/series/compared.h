/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a series side by side: the settings in which they differ, sorted by the objective. For the
 * table of `kiln experiments`, and for the page of a report.
 *
 * Order: compared_prepare -> json_visible, for people -> compared_make -> (compared_setting |
 * compared_best_epoch | ...)* -> compared_done. The result points into the record, which must stay. No
 * threads, no state; only compared_make() allocates.
 */
#pragma once

#include "core/base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct compared {
	const cJSON *series;
	const cJSON *base;   /* the settings of the series' configuration; NULL: not known */
	const cJSON **trial; /* the trials, the best one first, those without a value last, in their order */
	const char **key;    /* the dotted keys in which trials differ, in the order of the first override */
	uint32_t trials, keys;
};

/* Replaces the member "config" of a series.json, a text of lines that json_visible() would spoil, by
 * "settings" (settings_of()), from which a trial without an override has its value. A configuration that
 * cannot be read stays. */
void compared_prepare(cJSON *series);

/* Compares the trials of a series.json (core/series/series.h), of which any member may be missing or of
 * another type. Errors: -ENOMEM. */
MUST_CHECK int compared_make(const cJSON *series, struct compared *ret, struct error *err);
void compared_done(struct compared *compared);

/* Returns the value of a setting of a trial: its override or, where it has none, the value in the
 * configuration of the series. NULL: not known. */
const cJSON *compared_setting(const struct compared *compared, const cJSON *trial, const char *key);

/* Whether a trial is the winner of the series. */
bool compared_is_winner(const struct compared *compared, const cJSON *trial);

/* Returns the best value of the objective that a trial has; NaN: none. */
double compared_value(const cJSON *trial);
/* Whether the objective is best where it is lowest, and whether it is a share of 1, such as an accuracy. */
bool compared_minimizes(const cJSON *series);
bool compared_is_share(const cJSON *series);

#define COMPARED_WORDS_BYTES 64u
/* Writes the objective as people read it: "validation accuracy". Returns `out`. */
const char *compared_objective(const cJSON *series, char out[static COMPARED_WORDS_BYTES]);
/* Returns the figure of the test that stands beside the objective: "test_accuracy" where a trial has it, else
 * "test_loss"; a member of the summaries. */
const char *compared_test(const cJSON *series);
