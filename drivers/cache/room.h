/* SPDX-License-Identifier: Apache-2.0 */
/* The size that the disk cache of a series has by default. */
#pragma once

#include <stdint.h>

/* Returns half of the bytes of the cache's disk that are free, or that the cache has already; 0: not known.
 */
uint64_t cache_room(void);
