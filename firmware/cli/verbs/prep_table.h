/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `kiln prep` for tables. */
#pragma once

#include "cli/base/arguments.h"
#include "cli/prep/prep.h"

extern const struct verb_option prep_table_options[];

/* Where the inputs are a table, sets prep->table and prep->kind. Owns: the caller calls prep_table_done().
 * Errors: -EINVAL options that do not go together; -ENOMEM. */
MUST_CHECK int prep_table_open(struct prep *prep, const struct arguments *arguments, struct error *err);
void prep_table_done(struct prep *prep);
