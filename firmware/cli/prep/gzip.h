/* SPDX-License-Identifier: Apache-2.0 */
/* Files of text and archives, compressed with gzip or not. */
#pragma once

#include "core/base/error.h"

#include <zlib.h>

/* Opens a file; the caller closes it with gzclose(). Errors: -errno of open(2); the text shows `name`. */
MUST_CHECK int gzip_open(const char *path, const char *name, gzFile *ret_file, struct error *err);

/* Finds the true cause of an error `r` of a reader, or of none. Where the compressed bytes are damaged, the
 * inflated bytes may be wrong long before zlib notices. So reads to the end, where zlib compares the
 * checksum, and reports zlib's error instead. Where zlib finds no error, returns `r` and does not change
 * `err`. */
MUST_CHECK int gzip_explain(gzFile file, const char *path, const char *name, int r, struct error *err);
