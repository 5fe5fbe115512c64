/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/base/verb.h"

/* All verbs in the order of `kiln --help`, NULL-terminated. */
extern const struct verb *const verb_list[];
