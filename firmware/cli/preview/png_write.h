/* SPDX-License-Identifier: Apache-2.0 */
/* Writes PNG files with libspng. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* Writes height x width pixels of 1 or 3 bytes. Errors: -EIO with the library's message; -errno. */
MUST_CHECK int png_write(const char *path, const uint8_t *pixels, uint32_t height, uint32_t width,
			 uint32_t channels, struct error *err);
