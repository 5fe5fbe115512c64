/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wishes of a person for the current run, such as a stop or a checkpoint. traind reads them between two steps
 * (struct run_want, core/run/run.h). Each wish that changes something gets the next sequence number, by which
 * traind recognises a new wish.
 */
#pragma once

#include "core/run/run.h"

/* Wants the run in this state; no new wish where it is wanted already. */
MUST_CHECK int wish_state(enum run_state wanted, struct run_want *ret_want, struct error *err);
/* Wants one more checkpoint. */
MUST_CHECK int wish_checkpoint(struct run_want *ret_want, struct error *err);
