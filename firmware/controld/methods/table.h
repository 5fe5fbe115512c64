/* SPDX-License-Identifier: Apache-2.0 */
/* The table that maps the name of a method to its function. */
#pragma once

#include "controld/call/call.h"

/* Ends the program if a method of control_methods[] has no function. That is a mistake in Kiln itself, found
 * at every start. */
void methods_check(void);
/* Runs call->request, which has passed all checks. If an equal request with this idempotency key was answered
 * before, the call gets that answer. If kiln-steer still works on an equal request whose client left, the
 * call gets the answer that kiln-steer will give. Returns what a method returns (methods/methods.h). */
MUST_CHECK int methods_run(struct call *call, struct error *err);
