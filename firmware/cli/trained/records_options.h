/* SPDX-License-Identifier: Apache-2.0 */
/* The options that say which records a verb reads. */
#pragma once

#include "cli/base/arguments.h"
#include "trained/records_source.h"

/* The options --split, --data and --data-as-it-is-now. */
extern const struct verb_option records_options[];
/* Sets split, data, given and as_it_is_now from the arguments of a verb whose row has records_options.
 * Without --split the split is test. */
void records_read(struct records_source *source, const struct arguments *arguments);
