/* SPDX-License-Identifier: Apache-2.0 */
/* When a request reached which step; 0 = not yet. Times of clock_us(). The times of an attempt are of the
 * newest attempt. */
#pragma once

#include <stdint.h>

struct http_times {
	uint64_t first_us;     /* the first attempt began */
	uint64_t sent_us;      /* this attempt began */
	uint64_t connected_us; /* this attempt got its connection; 0 between two attempts */
	uint64_t answered_us;  /* the answer's first byte came */
};
