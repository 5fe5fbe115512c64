/* SPDX-License-Identifier: Apache-2.0 */
/* Table of methods and the functions that run them. */
#pragma once

#include "controld/call/call.h"

/* Ends the program where a row of control_methods[] has no function: our own mistake, found at every start.
 */
void methods_check(void);
/* Runs call->request, whose checks went well. A request with an idempotency key that was answered before gets
 * that answer; one that kiln-steer still works on for a client that left gets the answer to come.
 * Returns as a method does (methods/methods.h). */
MUST_CHECK int methods_run(struct call *call, struct error *err);
