/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a configuration, with the same messages as `kiln config check`. */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <time.h>

/* The facts about kiln.conf that status tells, remembered until the file changes. */
struct conf {
	struct timespec stamp; /* modification time of kiln.conf */
	char first[512];       /* the first mistake; "" = kiln.conf has no mistake */
	char network[32];      /* ranks.network; "" = none, or kiln.conf has a mistake */
	bool trusted;          /* ranks.trusted */
};

/* Checks a whole configuration file. Errors: negative; err->text has every mistake, one per line. Each line
 * begins with the path of the file, or with "kiln.conf" for a file in memory (core/config/config_held.h),
 * which has the text that a client sent. */
MUST_CHECK int conf_check(const char *path, struct error *err);
/* Returns the first mistake in the present kiln.conf; NULL = there is no mistake, or no file. */
const char *conf_mistake(struct conf *conf);
/* Returns how the ranks of several boxes reach each other, as a sentence written to `out`; NULL = kiln.conf
 * names no network for them. Reads the state of the interface each time. */
const char *conf_network(struct conf *conf, char *out, size_t size);
