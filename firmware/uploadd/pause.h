/* SPDX-License-Identifier: Apache-2.0 */
/* Something that is tried again after growing pauses. All 0 at the beginning. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pause {
	uint64_t next_us, pause_us; /* clock_us() of the next try, and the pause that follows it */
};

/* Returns whether it is time for a try; then a pause begins. The first one takes `first_us`, each further one
 * twice as long, `max_us` at most. Where nobody has asked for `max_us` after a pause, the next one is the
 * first again. */
bool pause_is_over(struct pause *pause, uint64_t first_us, uint64_t max_us);
