/* SPDX-License-Identifier: Apache-2.0 */
/* The times (clock_us()) at which a request reached each step; 0 = not yet. The last three are those of the
 * newest attempt. */
#pragma once

#include <stdint.h>

struct http_times {
	uint64_t first_us;     /* the first attempt began */
	uint64_t sent_us;      /* this attempt began */
	uint64_t connected_us; /* this attempt got its connection; 0 between two attempts */
	uint64_t answered_us;  /* the answer's first byte came */
};
