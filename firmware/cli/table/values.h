/* SPDX-License-Identifier: Apache-2.0 */
/* The different values of a column, numbered in the order in which they came. One thread at a time. */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

#define VALUES_NONE UINT32_MAX

struct values;

/* Errors: NULL, no memory. */
struct values *values_new(void);
void values_free(struct values *values);
/* Forgets all values, and keeps the memory. */
void values_clear(struct values *values);

/* Returns the number of a value, which is added where it is new, and counts `count` more rows of it.
 * VALUES_NONE: no memory. */
uint32_t values_add(struct values *values, const char *text, uint64_t bytes, uint64_t count);
/* Returns the number of a value, or VALUES_NONE. */
uint32_t values_find(const struct values *values, const char *text, uint64_t bytes);

uint32_t values_count(const struct values *values);
/* Returns a value, NUL-terminated; it stays until values_add(). */
const char *values_text(const struct values *values, uint32_t number, uint64_t *ret_bytes);
uint64_t values_rows(const struct values *values, uint32_t number);
/* Returns the bytes of all values. */
uint64_t values_bytes(const struct values *values);
