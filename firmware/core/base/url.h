/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs as texts: what lies below one, and the user and the password that a text may have in front of a host,
 * "smtp://USER:PASSWORD@relay". A text that a person wrote may be no right URL, so what is unclear counts as
 * a password. Pure functions.
 */
#pragma once

#include "core/base/cleanup.h"

#include <stddef.h>

/* Writes the URL of a folder or an object below a URL, which may end with a slash: `format` makes the path
 * below it. Cuts to `size`. Returns `out`. */
const char *url_below(char *out, size_t size, const char *url, const char *format, ...) PRINTF(4, 5);

/* Returns the length of user, password and '@' at the beginning of what follows "://"; 0 = there are none. A
 * password may contain '/', '?' and '#', which are mistakes. `bytes`: where the text ends at the latest. */
size_t url_login_bytes(const char *authority, size_t bytes);

/* Writes `bytes` bytes of a text, such as a refused value, with "***@" in the place of user and password, cut
 * to `size`. Also hides them where "://" is missing. Returns `out`. */
const char *url_without_login(const char *text, size_t bytes, char *out, size_t size);
