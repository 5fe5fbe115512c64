/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of this machine, machine-id(5). An image stores it on /data: the identity belongs to the disk,
 * not to the board, and a factory reset makes a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_ID_BYTES 33u /* 32 hexadecimal digits */

/* Tells whether the first `length` characters have the form of a machine-id(5). */
bool machine_is_id(const char *text, size_t length);
/* Reads the machine's identity; "" where the file is missing or has another form. Returns out. */
char *machine_id(char out[static MACHINE_ID_BYTES]);
