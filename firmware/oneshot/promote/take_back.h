/* SPDX-License-Identifier: Apache-2.0 */
/* What a promotion has put on the winner's branch before its merge was refused. */
#pragma once

#include "oneshot/promote/outcome.h"

/* Puts the outcome of a merge that was refused where the winner's branch says "promoted", and commits it.
 * Does nothing for a run of its own, whose branch is deleted. A failure is only a warning. */
void take_back(const struct promotion *promotion, const struct winner *winner,
	       const struct champion *champion, const struct merge *merge);
