/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/prep/prep.h"

/* The records of a table, prep->table. */
extern const struct prep_kind prep_table;
