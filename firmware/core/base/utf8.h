/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF)? O(bytes).
 */
#pragma once

#include <stdint.h>

/* The offset of the first byte that is not part of a well-formed character; `bytes` when all are. */
uint64_t utf8_valid_bytes(const char *text, uint64_t bytes);

/* A copy with U+FFFD in place of every byte that is not part of a well-formed character, NUL-terminated; the
 * caller frees. NULL: no memory. */
char *utf8_repaired(const char *text, uint64_t bytes);
