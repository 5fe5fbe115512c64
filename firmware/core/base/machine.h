/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine this is, machine-id(5). An image keeps it on /data: it goes with the disk, not with the
 * board, and a factory reset makes another one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_ID_BYTES 33u /* 32 hexadecimal digits */

bool machine_is_id(const char *text, size_t length);
/* "" where there is none, or not one of that form. Returns out. */
char *machine_id(char out[static MACHINE_ID_BYTES]);
