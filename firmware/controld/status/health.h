/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it all comes to, in one word and one sentence: "state" and "why" of the status object. The word is the
 * state of the run, "beginning" until kiln-begin decided, or "degraded" where a person should look.
 */
#pragma once

#include "controld/status/view.h"

void health_add(cJSON *object, const struct view *view);
