/* SPDX-License-Identifier: Apache-2.0 */
/* What writer and reader of safetensors files share; safetensors*.c only. */
#pragma once

#include <stdint.h>

#define SAFETENSORS_CRC_PREFIX    "crc32c/"
#define SAFETENSORS_CRC_KEY_BYTES 256u
#define SAFETENSORS_WIDTH_MAX     8u

/* Bytes of one element of a type by its name in the format, 0 for an unknown one. */
uint32_t safetensors_width(const char *dtype);
