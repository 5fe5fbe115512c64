/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs that change a box: call one method, then print one sentence about the result. */
#pragma once

#include "cli/client/call.h"

/* The option --yes. The row of every verb that asks the user to confirm has this list. */
extern const struct verb_option act_options[];

/* A call that changes a box, and the texts around the call. */
struct act {
	const char *method, *done; /* `done`: the sentence printed after the call */
	const char *danger; /* the consequence of which the user is warned before confirming; NULL: do not ask
			       the user */
};

/* Asks the user to confirm where act->danger is set, calls the method, then prints the result as JSON with
 * --json, or else the sentence act->done. `url`: value of the parameter "url"; NULL: the operand has it.
 * Returns the exit code. */
int act_run(const struct arguments *arguments, const struct act *act, const char *url);
