/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns a copy of the text in which all that could be a secret is "***": the user and password of a URL,
 * the value of a word such as "password" or "token", the signature of a signed request. The caller frees the
 * copy; NULL: no memory. */
char *redact(const char *text);
