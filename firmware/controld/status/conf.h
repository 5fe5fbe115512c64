/* SPDX-License-Identifier: Apache-2.0 */
/* The mistakes of a configuration, in the words of `kiln config check`. */
#pragma once

#include "core/base/error.h"

#include <time.h>

/* The first mistake of kiln.conf, remembered for as long as the file is the same. */
struct conf {
	struct timespec stamp; /* time stamp of the file */
	char first[512];       /* "" = there is none */
};

/* Checks a whole file. Errors: negative; err->text has every mistake, one a line, and calls the file
 * kiln.conf. */
MUST_CHECK int conf_check(const char *path, struct error *err);
/* The first mistake of kiln.conf as it is now; NULL = there is none, or no file. */
const char *conf_mistake(struct conf *conf);
