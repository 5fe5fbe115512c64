/* SPDX-License-Identifier: Apache-2.0 */
/* What kiln-oneshot begin does for a series. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* Goes on with the unfinished series: with the trial that runs, or with the next one. Without one, makes a
 * new series where `file` has trials, no other run is unfinished, and nobody asked for values of a single
 * run. `since`: when the night was asked for (Unix time). Returns 1 where the run of a trial has begun or
 * goes on; 0 where there is no series. Errors: those of kiln-oneshot begin; a trial that cannot begin because
 * of its configuration or its data has failed, and the next one is tried. */
MUST_CHECK int series_begin(const char *file, int64_t since, struct error *err);

/* The night of a series is over before its run could go on: the next night goes on with it. */
MUST_CHECK int series_expire(struct error *err);
