/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a request got how far; 0 = not yet. Times of clock_us(); those of an attempt are of the newest one.
 */
#pragma once

#include <stdint.h>

struct http_times {
	uint64_t first_us;     /* its first attempt began */
	uint64_t sent_us;      /* the attempt began */
	uint64_t connected_us; /* it had a connection; between attempts it has none */
	uint64_t answered_us;  /* the answer's first byte came */
};
