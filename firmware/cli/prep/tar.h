/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tar archives, not compressed or compressed with gzip, bzip2, xz or zstd. */
#pragma once

#include "core/base/error.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>

/* Tells whether a file is an archive by its name, without the names of the folders. */
bool tar_is(const char *name);

/* Calls `member` for each member, in the order of the archive. A result above 0 ends the reading, and is
 * returned. Error texts show `name` and the path of the member. Errors: those of `member`; -EBADMSG no tar,
 * or damaged or cut; -errno of open(2). */
MUST_CHECK int tar_read(const char *path, const char *name,
			int (*member)(void *context, struct archive *archive, struct archive_entry *entry,
				      struct error *err),
			void *context, struct error *err);
