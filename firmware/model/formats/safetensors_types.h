/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by writer and reader of safetensors files; only safetensors*.c include it. */
#pragma once

#include <stdint.h>

#define SAFETENSORS_CRC_PREFIX    "crc32c/"
#define SAFETENSORS_CRC_KEY_BYTES 256u
#define SAFETENSORS_WIDTH_MAX     8u

/* Returns the bytes of an element of type `dtype`, or 0 for an unknown type. */
uint32_t safetensors_width(const char *dtype);
