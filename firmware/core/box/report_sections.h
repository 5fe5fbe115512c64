/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a report's HTML page, each in a file of its own. Private to core/box. */
#pragma once

#include "core/box/report_parts.h"
#include "core/series/compared.h"

#include <stdio.h>

/* What the page is made from. Any member of the JSON may be missing; the strings of the JSON are visible. */
struct report_page {
	const cJSON *report, *record, *series; /* as those of report_html() */
	const cJSON *epochs;                   /* of the record; NULL = none */
	FILE *out;
};

/* Return the member of the report or, where the report does not know it, of the record, at a path; NULL:
 * neither has it, or it is no string. `in_record`: NULL = only the report can have it. */
const cJSON *report_of(const struct report_page *page, const char *in_report, const char *in_record);
const char *report_words_of(const struct report_page *page, const char *in_report, const char *in_record);

/* Prints what came out of a promotion, as a sentence. */
void report_promotion_sentence(const struct report_page *page, const cJSON *promotion);

/* Prints the trials of the series side by side, as a picture and as a table. Without a series prints nothing.
 */
void report_trials(const struct report_page *page);
/* Draws the objective of the best `trials` trials by epoch, over each other: the winner and the next best
 * ones in colours. Draws nothing where less than two have a curve, or memory is short. */
void report_trial_curves(const struct compared *compared, uint32_t trials, FILE *out);
/* Prints times, box, versions, and what the run trained on. */
void report_facts(const struct report_page *page);
/* Print the curves as charts, and the figures of the epochs and of the test as a table. */
void report_charts(const struct report_page *page);
void report_figures_table(const struct report_page *page);
/* Prints the confusion matrix of the record; nothing where it has none. */
void report_confusion(const struct report_page *page);
/* Prints the warnings that say how far the figures can be trusted, what of the data does not fit the
 * configuration, and which daemons are degraded. */
void report_warnings(const struct report_page *page);
/* Prints the faults of the night. Without a report prints nothing. */
void report_faults_list(const struct report_page *page);
/* Prints the records that were left out, the objects that changed, and the files that are not in the store.
 */
void report_missing(const struct report_page *page);
