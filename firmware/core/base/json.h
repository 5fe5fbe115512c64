/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON by cJSON, with checks that cJSON does not make: text after the value, duplicate keys, bad UTF-8,
 * integers that a double would round, strings that \u0000 would cut, text that is too long or nested too
 * deep. An integer up to 2^53 is a JSON number, a larger one is a string of decimal digits.
 */
#pragma once

#include "core/base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_BYTES_MAX (16u << 20)
#define JSON_DEPTH_MAX 64u

void json_free(cJSON **json); /* for CLEANUP() */

/* Parses one JSON value; only white space may follow the value. `what`: the name of the text in errors.
 * Errors: -EBADMSG with what is wrong and the position in bytes; -E2BIG the text is too long. */
MUST_CHECK int json_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_json,
			  struct error *err);

/* Reads and parses a file of at most `max` bytes. Errors, which name the file: those of file_read() and of
 * json_parse(). */
MUST_CHECK int json_read(const char *path, uint64_t max, cJSON **ret_json, struct error *err);

/* Prints indented JSON. Every finite number is printed so that parsing gives the same number again; hidden
 * characters (core/base/visible.h) are printed as \uNNNN, and a byte that is not UTF-8 as \ufffd. The caller
 * frees the text. */
MUST_CHECK int json_print(const cJSON *json, char **ret_text, struct error *err);
/* Does the same as json_print(), but prints one line that ends with "\n". */
MUST_CHECK int json_print_line(const cJSON *json, char **ret_text, struct error *err);

/* Return a member of an object. Owns: a returned string belongs to the object. Errors: -EBADMSG with `what`,
 * the key, what was found and what was expected. */
MUST_CHECK int json_get_string(const char *what, const cJSON *object, const char *key, const char **ret,
			       struct error *err);
/* Copies the string to `out`, of `size` bytes with its NUL; -EBADMSG also where it is longer. */
MUST_CHECK int json_copy_string(const char *what, const cJSON *object, const char *key, char *out,
				size_t size, struct error *err);
MUST_CHECK int json_get_u64(const char *what, const cJSON *object, const char *key, uint64_t *ret,
			    struct error *err);
MUST_CHECK int json_get_double(const char *what, const cJSON *object, const char *key, double *ret,
			       struct error *err);

/* Returns the member at a path such as "progress.step"; NULL where there is none. The empty path returns the
 * object. */
const cJSON *json_member(const cJSON *object, const char *path);
/* Returns the number at such a path; `otherwise` where there is none. */
double json_number(const cJSON *object, const char *path, double otherwise);

/* Gives all strings and keys of a value their visible form (core/base/visible.h), before they are printed as
 * text. A string for which memory is short becomes "". */
void json_visible(cJSON *json);

/* Makes a string item from bytes that need not be valid UTF-8: U+FFFD replaces each invalid byte. NULL: no
 * memory. */
cJSON *json_string(const char *text);
/* Adds an item to an array before `next`, an item of it; NULL = at the end. cJSON_InsertItemInArray() of
 * cJSON 1.7.15 as Debian builds it refuses each place between two items. */
void json_insert_before(cJSON *array, cJSON *item, cJSON *next);
/* Adds an integer: up to 2^53 as a number, a larger one as a string of decimal digits. */
bool json_add_u64(cJSON *object, const char *key, uint64_t value);
