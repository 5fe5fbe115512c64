/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs that change a box: one call, and one sentence about its result. */
#pragma once

#include "cli/client/call.h"

/* --yes, for the row of a verb that asks the user first. */
extern const struct verb_option act_options[];

/* The action of a verb. */
struct act {
	const char *method, *done; /* `done` is printed after the call */
	const char *danger; /* why nobody should call it by mistake: the user is asked; NULL: not asked */
};

/* Asks the user where there is a danger, calls the method, prints the answer as JSON with --json, else the
 * sentence. `url`: value of the parameter "url", instead of the operand; NULL: the operand's. Returns
 * the exit code. */
int act_run(const struct arguments *arguments, const struct act *act, const char *url);
