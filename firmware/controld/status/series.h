/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "controld/status/view.h"

/* Adds series: the summary of the series to which the run belongs (core/series/series.h), with `trial`, the
 * name of the run's trial, and `number`, its place, counted from 1; null where the run is no trial. */
void series_add(cJSON *object, const struct view *view);
