/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Parses a whole text as a decimal number, such as -1, 2.5 or 6e-3; spaces, hexadecimal digits, "inf" and
 * "nan" are no numbers. The text has a NUL behind its last byte. *ret_value is the nearest double; false also
 * for a number that float32 cannot hold, above 3.4e38. *ret_whole: it has digits alone, and is at most 2^53.
 */
bool number_parse(const char *text, uint64_t bytes, double *ret_value, bool *ret_whole);
