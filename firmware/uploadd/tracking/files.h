/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON files in the folder of a run or a series (core/run/tracking.h), and their members. */
#pragma once

#include "core/base/json.h"
#include "core/run/tracking.h"

#include <stdbool.h>

#define FILES_ABOUT "about.json"
#define FILES_NOW   "now.json"
#define FILES_SENT  "sent.json"

/* Reads a file. Where it is missing or damaged, *ret_json is an empty object: a damaged file costs that
 * something is told twice. Errors: -ENOMEM; -errno of the file. */
MUST_CHECK int files_read(const char *id, const char *name, cJSON **ret_json, struct error *err);
/* Replaces a file durably. */
MUST_CHECK int files_write(const char *id, const char *name, const cJSON *json, struct error *err);

/* Return a member; "", 0 and false where it is missing or has another type. */
const char *files_text(const cJSON *json, const char *key);
double files_number(const cJSON *json, const char *key);
bool files_flag(const cJSON *json, const char *key);
/* Sets a member, or replaces it. Takes `item`, which is NULL where memory was short. */
MUST_CHECK int files_set(cJSON *json, const char *key, cJSON *item, struct error *err);
