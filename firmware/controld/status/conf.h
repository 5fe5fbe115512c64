/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a configuration, with the same messages as `kiln config check`. */
#pragma once

#include "core/base/error.h"

#include <time.h>

/* The first mistake of kiln.conf, remembered until the file changes. */
struct conf {
	struct timespec stamp; /* modification time of kiln.conf */
	char first[512];       /* "" = kiln.conf has no mistake */
};

/* Checks a whole configuration file. Errors: negative; err->text has every mistake, one per line. Each line
 * begins with the path of the file, or with "kiln.conf" for a file in memory (core/config/config_held.h),
 * which has the text that a client sent. */
MUST_CHECK int conf_check(const char *path, struct error *err);
/* Returns the first mistake in the present kiln.conf; NULL = there is no mistake, or no file. */
const char *conf_mistake(struct conf *conf);
