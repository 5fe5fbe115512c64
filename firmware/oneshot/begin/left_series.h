/* SPDX-License-Identifier: Apache-2.0 */
/* The branches of a series that a new disk cannot go on with: on a store with branches the record of a series
 * is on the box alone until the series has ended. */
#pragma once

#include "core/config/config.h"

/* Warns where the newest series of this box below the sink has not ended: names its branches, and says what
 * to do with them. `box`: kiln.conf. Does nothing on a store without branches. A failure is only a warning: a
 * new series begins in any case. Blocks: one request for each branch that it looks at, LEFT_LOOKED_MAX at
 * most: the last ones in the order of names. A series whose first branch is before them is not told of. */
void left_series_say(const struct config *box);

#define LEFT_LOOKED_MAX 64u
