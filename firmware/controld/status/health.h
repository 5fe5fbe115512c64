/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up the status in one word and one sentence: the members "state" and "why" of the status object. The
 * word is the state of the run, "beginning" until kiln-begin has decided, or "degraded" if a person should
 * look at the box.
 */
#pragma once

#include "controld/status/view.h"

void health_add(cJSON *object, const struct view *view);
