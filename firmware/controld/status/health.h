/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary of the status object, in one word and one sentence: "state" and "why". The word is the state of
 * the run, "beginning" until kiln-begin has decided, or "degraded" where a person should look.
 */
#pragma once

#include "controld/status/view.h"

void health_add(cJSON *object, const struct view *view);
