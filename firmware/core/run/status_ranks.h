/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of a run in one picture: what each of them does with its time, and which one the others wait for.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

/* Returns the ranks between two pages of the same kiln-traind: {rank: [{rank, box, device, rows,
 * records_per_s, feed_s, others_s, exchange_s, device_s}], slowest: {rank, box, stage, cost_s, means} or
 * null}. `before` NULL: since that kiln-traind began. JSON null: one rank trains, or there is no page. NULL:
 * no memory.
 *
 * The slowest rank is the one that waits the least for the others, where they wait longer than it by 5 % of
 * the time. `stage` is "feed" where its longer wait for data is half of that or more, else "device". Where no
 * rank is slower than the others, but each one waits for 10 % of the time for the exchange, the stage is
 * "wire", and rank and box are null. cost_s is the time that the others, or all, wait for it, as a mean. */
cJSON *status_ranks(const struct status *before, const struct status *traind);
