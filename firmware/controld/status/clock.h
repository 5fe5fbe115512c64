/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether the time of day can be trusted, also where systemd's sandbox forbids to ask the kernel. */
#pragma once

#include <stdbool.h>

/* Returns whether a program has set the clock from a time source. Blocks while systemd-timedated answers, at
 * most once a minute; the answer may be a minute old. */
bool clock_is_set(void);
