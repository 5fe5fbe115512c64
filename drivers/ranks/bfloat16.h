/* SPDX-License-Identifier: Apache-2.0 */
/* Converts between float32 and bfloat16, the upper half of a float32. The rounding is that of ranks.h. No
 * state; any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Rounds `count` values to bfloat16. A NaN keeps its sign and the upper bits of its payload, and is quiet. */
void bfloat16_narrow(uint16_t *out, const float *in, size_t count);

/* Converts `count` values to float32, which is exact. */
void bfloat16_widen(float *out, const uint16_t *in, size_t count);

/* Rounds `count` values to bfloat16 and leaves them as float32: the same as narrow and widen. `out` may be
 * `in`. */
void bfloat16_round(float *out, const float *in, size_t count);
