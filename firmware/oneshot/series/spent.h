/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a series has worked: the members spent_s and mark {boot, boot_s, unix_s} of series.json. Time of
 * work is the wall time from the begin of a trial to its end, with the time between two trials; nights that
 * have ended, and a stop by hand, do not count. Nor does the time after the trainer's last sign of work: a
 * run that has halted, or a box without power.
 *
 * Within a boot the clock that counts since the boot decides, which nobody sets. Across a boot the time of
 * day decides, but a jump of it never takes back time, and counts as SPENT_JUMP_MAX_S at most.
 */
#pragma once

#include "core/series/series.h"

#define SPENT_JUMP_MAX_S (24 * 3600)

/* Adds the time of work since the mark, where there is one, and sets a new mark with `goes_on`, or removes
 * it. */
void spent_count(cJSON *series, bool goes_on);
/* Returns the seconds that have been counted. */
int64_t spent_s(const cJSON *series);
/* Returns the seconds that are left of a budget "HH:MM"; INT64_MAX: there is none. */
int64_t spent_left_s(const cJSON *series, const char *budget);
