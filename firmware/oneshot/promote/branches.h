/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which branches go once an outcome is noted: of a series those that sink.keep_branches does not keep, of
 * which outcome_note() notes in series.json that some are left; and the branches by which runs of their own
 * were promoted, and champions brought back (oneshot/branches/left.h). Crash: the next start sees that, and
 * goes on.
 */
#pragma once

#include "oneshot/promote/winner.h"

/* Deletes the branches of each series whose record says that some are left (outcome_left_branches()), and
 * those of promotions. Returns 1 where a branch of the winner's series, or of a promotion, is left for a
 * later call: the files of its trial are not in the store yet, or the server cannot be asked. The first call
 * without an answer ends the work. A branch of an older series is left to the next start then. A branch that
 * the server does not let go stays, with a warning. */
MUST_CHECK int branches_delete(const struct winner *winner, struct error *err);
