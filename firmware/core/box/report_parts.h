/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the text and the HTML page of a report: how they read its members, and their words. */
#pragma once

#include "core/base/json.h"

/* Read the member at a path such as "night.from_s". Where it is missing or of another type: 0, or "-". */
double report_number(const cJSON *object, const char *path);
const char *report_words(const cJSON *object, const char *path);

/* Formats a time as "2026-11-22 22:00:00" in UTC or, where `day` is false, without the date. */
const char *report_date(double seconds, bool day, char out[static 32]);

#define REPORT_VALUE_BYTES 64u
/* Write a loss as "0.4435", another figure as "86.99 %", and a time as "12 min 03 s". Return `out`. */
char *report_figure_text(double value, bool is_loss, char out[static REPORT_VALUE_BYTES]);
char *report_span_text(double seconds, char out[static REPORT_VALUE_BYTES]);

/* Returns what came out of a promotion, for a reader who does not know the outcomes' names; an outcome
 * without words as it is. */
const char *report_promotion_words(const char *outcome);

/* The stages of the member "time". */
struct report_stage {
	const char *key, *label;
	bool beside; /* at the same time as the other stages */
};
#define REPORT_STAGES 8u
extern const struct report_stage report_stages[REPORT_STAGES];

/* The figures of an epoch and of the member "curves". */
struct report_figure {
	const char *key, *label;
	bool is_loss; /* best where it is lowest; others are best where they are highest, and shares of 1 */
};
#define REPORT_FIGURES 4u
extern const struct report_figure report_figures[REPORT_FIGURES];

/* The end points of a curve. */
struct report_curve {
	bool any; /* an epoch has the figure */
	double first, best, last;
	double best_epoch; /* number of the best epoch, counted from 1 */
};
struct report_curve report_curve_of(const cJSON *epochs, const struct report_figure *figure);
/* Returns the number of an epoch, counted from 1. `place`: that of the entry in the list of epochs, counted
 * from 1, for an entry without a number. */
double report_epoch(const cJSON *epoch, int place);

/* Returns a warning of two lines, where the figures of a split are too good: `seen` is the member
 * "validation_seen" or "test_seen". The caller frees it. NULL: there is none, or no memory. */
char *report_seen(const char *split, const cJSON *seen);
