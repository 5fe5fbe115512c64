/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up the status in one word and one sentence: the members "state" and "why" of the status object. The
 * word is one of: "degraded" where a person should look at the box; "beginning" while kiln-begin prepares a
 * run; otherwise the state of the run.
 */
#pragma once

#include "controld/status/view.h"

void health_add(cJSON *object, const struct view *view);
