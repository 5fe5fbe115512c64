/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns a copy of the text in which "***" replaces everything that could be a secret: user and password in
 * a URL, the value after a word such as "password" or "token", the signature of a signed request. The caller
 * frees the copy. NULL: no memory. */
char *redact(const char *text);
