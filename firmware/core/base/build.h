/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of Kiln a program is. The linker computes the id from all that the program consists of, its
 * OpenCL sources too. So equal ids mean equal programs, on any machine, with or without git; and the same
 * sources, compiler and options give the same id. */
#pragma once

#include "core/base/error.h"

#define BUILD_ID_BYTES 41u /* 40 hexadecimal digits */

/* Writes the id of this program, the note NT_GNU_BUILD_ID of its ELF file, as `readelf -n` prints it; ""
 * where it was linked without one. Returns out. */
char *build_id(char out[static BUILD_ID_BYTES]);
/* Writes the id of another program, by its path. Errors: -errno of open(2); -EBADMSG the file is no ELF
 * program of this machine, or has no id. */
MUST_CHECK int build_id_of(const char *path, char out[static BUILD_ID_BYTES], struct error *err);
