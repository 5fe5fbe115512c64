/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "controld/status/view.h"

/* Adds series: the summary of the series to which the run belongs (core/series/series.h), with `trial`, the
 * name of the run's trial, `next`, that of the trial that comes next, `number`, the place of the trial or
 * else of the next one, counted from 1, and `beside`, the trials of other slots (beside.h). Where the run is
 * no trial, or no run is there: the unfinished series, whose `trial` is null; without one null. */
void series_add(cJSON *object, const struct view *view);
