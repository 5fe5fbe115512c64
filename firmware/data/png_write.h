/* SPDX-License-Identifier: Apache-2.0 */
/* Makes PNG files with libspng. Pure; any thread. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* Makes the PNG file of height x width pixels of 1 or 3 bytes. The caller frees *ret_file. Errors: -EIO with
 * the library's message; -ENOMEM. */
MUST_CHECK int png_make(const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
			void **ret_file, uint64_t *ret_bytes, struct error *err);
