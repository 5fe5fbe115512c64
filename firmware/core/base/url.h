/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user and the password that a text may have in front of a host: "smtp://USER:PASSWORD@relay". A text
 * that a person wrote may be no right URL, so what is unclear counts as a password. Pure functions.
 */
#pragma once

#include <stddef.h>

/* Returns the length of user, password and '@' at the beginning of what follows "://"; 0 = there are none. A
 * password may contain '/', '?' and '#', which are mistakes. `bytes`: where the text ends at the latest. */
size_t url_login_bytes(const char *authority, size_t bytes);

/* Writes `bytes` bytes of a text, such as a refused value, with "***@" in the place of user and password, cut
 * to `size`. Also hides them where "://" is missing. Returns `out`. */
const char *url_without_login(const char *text, size_t bytes, char *out, size_t size);
