/* SPDX-License-Identifier: Apache-2.0 */
/* How far all streams read ahead: windows/ loads the windows, tune.c sets the number, cache/ evicts by it. */
#pragma once

#include <stdint.h>

/* How the windows of all streams share the memory. */
#define AHEAD_LEAST 1u
/* Of objects, so many at first, where they fit the memory: more requests are in flight. */
#define AHEAD_OBJECTS 3u
#define AHEAD_MAX     31u
struct windows {
	uint32_t streams;
	uint32_t ahead;         /* windows per stream that are read ahead of the window in use */
	uint64_t largest_bytes; /* bytes on the account of the largest window so far */
	uint64_t shared_most;   /* most bytes of a window's shared buffer (windows/shared.h) */
};
