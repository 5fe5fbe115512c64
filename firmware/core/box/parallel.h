/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a series as parallel coordinates, a <figure> with inline SVG: an axis for each setting in
 * which the trials differ, the last one for the objective, and a line for each trial. A setting of numbers
 * has an axis of values (core/box/axis.h), another one a place for each value. No state.
 *
 * The page's style (core/box/report_style.c) gives the colours.
 */
#pragma once

#include "core/series/compared.h"

#include <stdio.h>

#define PARALLEL_SETTINGS_MAX 8u /* axes of settings; the picture leaves out the later ones */

/* Draws the best `trials` trials; nothing where none has a value or there is one trial alone. Where memory is
 * short, nothing. */
void parallel_draw(const struct compared *compared, uint32_t trials, FILE *out);
