/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: what a person wants the current run to do (struct run_want, core/run/run.h). traind reads the
 * request between two steps. Each change of the request gets the next sequence number, by which traind knows
 * what is new.
 */
#pragma once

#include "core/run/run.h"

/* Writes the request for this state of the run; writes nothing if it is the request already. */
MUST_CHECK int request_state(enum run_state wanted, struct run_want *ret_want, struct error *err);
/* Writes the request for one more checkpoint. */
MUST_CHECK int request_checkpoint(struct run_want *ret_want, struct error *err);
