/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which branches of a series go once its outcome is noted: those that sink.keep_branches does not keep.
 * outcome_note() notes in series.json that they are left. Crash: the next start sees that, and goes on.
 */
#pragma once

#include "oneshot/promote/winner.h"

/* Deletes the branches, where the record of the series says that some are left (outcome_has_left_branches()).
 * Returns 1 where a branch is left for a later call: the files of its trial are not in the store yet, or the
 * server cannot be asked. A branch that the server does not let go stays, with a warning. */
MUST_CHECK int branches_delete(const struct winner *winner, struct error *err);
