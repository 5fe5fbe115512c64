/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of this machine, machine-id(5). On a box the identity is stored on /data. So the identity
 * stays with the disk when the board is replaced, and a factory reset makes a new identity.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_ID_BYTES 33u /* 32 hexadecimal digits */

/* Tells whether the first `length` characters have the form of a machine-id(5). */
bool machine_is_id(const char *text, size_t length);
/* Reads the machine's identity; "" where the file is missing or its content does not have the form of a
 * machine-id(5). Returns out. */
char *machine_id(char out[static MACHINE_ID_BYTES]);
