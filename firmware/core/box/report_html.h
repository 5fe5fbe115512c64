/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a night as one HTML page, which needs nothing else: its style and pictures are in it, it has
 * no script, and a browser sends no request for it.
 *
 *     report_html.c      the page: heading, what a reader wants to know first, time by stage
 *     report_sections.h  the other sections: report_facts.c, report_curves.c, report_confusion.c,
 *                        report_series.c, report_trial_curves.c, report_notes.c
 *     report_style.c     the style
 *     chart.c, axis.c    curves as inline SVG
 *     parallel.c         the trials of a series as inline SVG
 *     report_parts.c     what the page has in common with the text (core/box/report_text.c)
 *
 * Pure: nothing outlives a call, any thread may call it. Size: about 10 KiB, with the 4096 epochs that a
 * run.json has at most about 30 KiB; the 100 trials of a series that it shows take about 60 KiB, and their
 * curves 100 KiB at most; a confusion
 * matrix takes about 1 KiB, and at most 200 KiB, of 64 classes; the names and messages in the report come on
 * top.
 */
#pragma once

#include "core/base/json.h"

#include <stdio.h>

/* Prints the page. `report`: a report (core/box/reports.h); NULL = none. `record`: the run.json of its run
 * (core/run/run.h), which has the epochs; NULL = none. `series`: the series.json of the series of which this
 * run is a trial, prepared (core/series/compared.h); NULL = none. Any member of them may be missing, and
 * their strings are visible (json_visible()); no character of them has a meaning for the browser. Where
 * memory is short, curves are missing. */
void report_html(const cJSON *report, const cJSON *record, const cJSON *series, FILE *out);
