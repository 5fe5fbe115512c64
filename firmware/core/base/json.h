/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cJSON with what it leaves out checked: trailing bytes, duplicate keys, bad UTF-8, integers it would round,
 * strings it would cut (\u0000), text too long or nested too deep.
 * Integers travel as numbers up to 2^53 and as decimal strings above.
 */
#pragma once

#include "core/base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_BYTES_MAX (16u << 20)
#define JSON_DEPTH_MAX 64u

void json_free(cJSON **json); /* for CLEANUP() */

/* Parse one value and nothing behind it but white space. `what` names the text in errors.
 * Errors: -EBADMSG what is wrong and at which byte; -E2BIG. */
MUST_CHECK int json_parse(const char *what, const char *text, uint64_t bytes, cJSON **ret_json,
			  struct error *err);

/* Indented text, malloc'ed; every finite number reads back as it is. */
MUST_CHECK int json_print(const cJSON *json, char **ret_text, struct error *err);
/* The same on one line, with "\n" behind it. */
MUST_CHECK int json_print_line(const cJSON *json, char **ret_text, struct error *err);

/* Members of an object; -EBADMSG names `what`, the key, what was found and expected. Strings stay the
 * object's. */
MUST_CHECK int json_get_string(const char *what, const cJSON *object, const char *key, const char **ret,
			       struct error *err);
MUST_CHECK int json_get_u64(const char *what, const cJSON *object, const char *key, uint64_t *ret,
			    struct error *err);
MUST_CHECK int json_get_double(const char *what, const cJSON *object, const char *key, double *ret,
			       struct error *err);

/* Returns the member at a path such as "progress.step", or NULL. The empty path is the object itself. */
const cJSON *json_member(const cJSON *object, const char *path);

/* A string item of text that may be anything: bytes that are not UTF-8 become U+FFFD. NULL: no memory. */
cJSON *json_string(const char *text);
/* A number up to 2^53, a decimal string above. */
bool json_add_u64(cJSON *object, const char *key, uint64_t value);
