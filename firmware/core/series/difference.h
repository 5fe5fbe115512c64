/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differences between two runs, from their run.json (core/run/run.h): configuration, plan, code, machine,
 * and the epoch at which their curves part. No threads, no state.
 */
#pragma once

#include "core/base/json.h"

/*
 * Compares two run.json with the member "state". Returns
 *
 *     a, b       each {id, series, trial}; null where the record does not know it
 *     settings   [{key, a, b}]: settings_differ(); null where one of the configurations cannot be read
 *     unread     why; null where both can be
 *     facts      {plan, order, version, build, device, machine, seed, starts_from, weights}, each {a, b,
 *                same}
 *
 *     parts      {epoch, figure, a, b}: the first epoch, counted from 1, with another figure, and the first
 *                such figure of it; null: they are the same as far as both go
 *     gap        {epoch, figure, a, b}: the epoch, counted from 1, with the widest gap of the objective
 *                (curves_objective()), and both values; null: there is no gap
 *     ahead      {epoch, run: "a" or "b"}: the run that is better in the last epoch that both have, and the
 *                epoch from which on it is; null: neither is
 *     compared   how many epochs both have
 *     figures    [{key, a, b}]: the members of run_summary(), as far as a run has them
 *
 * Of two figures that are not a number the curves do not part. The caller deletes it. NULL: no memory.
 */
cJSON *difference_of(const cJSON *a, const cJSON *b);
