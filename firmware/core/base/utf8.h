/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). Cost: O(bytes).
 */
#pragma once

#include <stdint.h>

/* Returns the length in bytes of the character at `text`, of which `left` bytes (at least 1) are there, and
 * sets its code point; 0 where these bytes are no well-formed character. */
unsigned utf8_character(const char *text, uint64_t left, uint32_t *ret_code);

/* Returns the offset of the first byte that is not part of a well-formed character, or `bytes`. */
uint64_t utf8_valid_bytes(const char *text, uint64_t bytes);

/* Returns the length of the byte order mark with which the text begins, or 0. Programs of Windows write it in
 * front of the first line. */
uint64_t utf8_mark(const char *text, uint64_t bytes);

/* Returns a copy with U+FFFD in place of every byte that is not part of a well-formed character,
 * NUL-terminated; the caller frees it. NULL: no memory. */
char *utf8_repaired(const char *text, uint64_t bytes);
