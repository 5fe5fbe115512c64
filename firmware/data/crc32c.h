/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, polynomial 0x1edc6f41 reflected: 0x82f63b78): ISA-L's, which folds by carry-less
 * multiplication where the CPU can. A few bytes go by the CPU's own instruction, or by tables.
 */
#pragma once

#include <stdint.h>

/* The CRC of the bytes, continued from `crc` (0 to start). */
uint32_t crc32c(uint32_t crc, const void *data, uint64_t bytes);

/* The same by tables, whatever the CPU has: the reference. */
uint32_t crc32c_portable(uint32_t crc, const void *data, uint64_t bytes);
