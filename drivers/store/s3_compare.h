/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "drivers/store/s3.h"

/* Reads an object, in the version of `pin`, and compares it with the file `fd`, of as many bytes. Errors:
 * -EIO another byte, or the file cannot be read; -ENOMEM; those of a store. */
MUST_CHECK int s3_compare(struct s3_store *s3, const char *key, const struct store_pin *pin, int fd,
			  struct error *err);
