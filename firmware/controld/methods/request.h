/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wishes: what a person wants the current run to do (struct run_want, core/run/run.h). traind reads the wish
 * between two steps. Each change of the wish gets the next sequence number, by which traind knows what is
 * new.
 */
#pragma once

#include "core/run/run.h"

/* Writes the wish for this state of the run; writes nothing if it is the wish already. */
MUST_CHECK int wish_state(enum run_state wanted, struct run_want *ret_want, struct error *err);
/* Writes the wish for one more checkpoint. */
MUST_CHECK int wish_checkpoint(struct run_want *ret_want, struct error *err);
