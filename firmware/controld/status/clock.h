/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the time of day can be trusted, asked from inside a sandbox. */
#pragma once

#include <stdbool.h>

/* Something keeps the clock right. Blocks for as long as systemd-timedated takes to answer, at most once a
 * minute; its answer is up to a minute old. */
bool clock_is_set(void);
