/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/base/json.h"

/* Counts the warnings and errors of the journal from `from_s` to `to_s` (Unix time), and returns them as the
 * member "faults", which the caller frees. NULL: the journal cannot be read. */
cJSON *report_faults(int64_t from_s, int64_t to_s);
