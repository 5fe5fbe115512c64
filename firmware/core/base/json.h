/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cJSON, with checks that cJSON lacks: text after the value, duplicate keys, bad UTF-8, integers that a
 * double would round, strings that \u0000 would cut, text that is too long or nested too deep. Integers are
 * numbers up to 2^53, and decimal strings above.
 */
#pragma once

#include "core/base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_BYTES_MAX (16u << 20)
#define JSON_DEPTH_MAX 64u

void json_free(cJSON **json); /* for CLEANUP() */

/* Parses one value; only white space may follow it. `what` names the text in errors.
 * Errors: -EBADMSG with what is wrong and at which byte; -E2BIG. */
MUST_CHECK int json_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_json,
			  struct error *err);

/* Prints indented text, in which every finite number reads back as the same number. The caller frees it. */
MUST_CHECK int json_print(const cJSON *json, char **ret_text, struct error *err);
/* json_print() on one line that ends with "\n". */
MUST_CHECK int json_print_line(const cJSON *json, char **ret_text, struct error *err);

/* Return a member of an object. Owns: a string belongs to the object.
 * Errors: -EBADMSG with `what`, the key, what was found and what was expected. */
MUST_CHECK int json_get_string(const char *what, const cJSON *object, const char *key, const char **ret,
			       struct error *err);
MUST_CHECK int json_get_u64(const char *what, const cJSON *object, const char *key, uint64_t *ret,
			    struct error *err);
MUST_CHECK int json_get_double(const char *what, const cJSON *object, const char *key, double *ret,
			       struct error *err);

/* Returns the member at a path such as "progress.step", or NULL. The empty path is the object itself. */
const cJSON *json_member(const cJSON *object, const char *path);

/* Makes a string item from any text: each byte that is not UTF-8 becomes U+FFFD. NULL: no memory. */
cJSON *json_string(const char *text);
/* Adds a number up to 2^53, a decimal string above. */
bool json_add_u64(cJSON *object, const char *key, uint64_t value);
