/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, polynomial 0x1edc6f41, reflected 0x82f63b78), the checksum of TFRecord frames. ISA-L
 * computes it for long data, by carry-less multiplication where the CPU has it; the CPU's CRC instruction, or
 * tables, for short data. Any thread.
 */
#pragma once

#include <stdint.h>

/* Returns the CRC of the bytes, continued from `crc` (0 to start). */
uint32_t crc32c(uint32_t crc, const void *data, uint64_t bytes);

/* crc32c() by tables alone, whatever the CPU has: the reference for tests. */
uint32_t crc32c_portable(uint32_t crc, const void *data, uint64_t bytes);
