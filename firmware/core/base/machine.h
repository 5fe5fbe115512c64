/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of this machine, machine-id(5). On a box the identity is stored on /data. So the identity
 * stays with the disk when the board is replaced, and a factory reset makes a new identity.
 *
 * The identity belongs to the machine and not to KILN_ROOT: a demo below another root is on the same machine.
 * Only a file KILN_ROOT/etc/machine-id replaces the identity: tests make this file on purpose, to have
 * several machines on one. Two roots on one machine are two boxes all the same; machine_root() tells them
 * apart.
 */
#pragma once

#include "core/base/paths.h"

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_ID_BYTES 33u /* 32 hexadecimal digits */

/* Tells whether the first `length` characters have the form of a machine-id(5). */
bool machine_is_id(const char *text, size_t length);
/* Reads the machine's identity; "" where the file is missing or its content does not have the form of a
 * machine-id(5). Returns 0, or the negative errno of a file that cannot be read: then nobody knows the
 * identity. */
MUST_CHECK int machine_id_read(char out[static MACHINE_ID_BYTES], struct error *err);
/* The same for a text that people read: "" also where the file cannot be read. Returns out. */
char *machine_id(char out[static MACHINE_ID_BYTES]);
/* Writes the real path of KILN_ROOT; "" where KILN_ROOT is not set, or does not exist. Returns out. */
char *machine_root(char out[static PATH_BYTES]);
