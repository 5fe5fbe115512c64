/* SPDX-License-Identifier: Apache-2.0 */
/* `kiln prep --features`: the form of the verb that computes the features of a frozen base. */
#pragma once

#include "cli/base/arguments.h"

/* Runs the verb. Returns the exit code. */
int prep_features_verb(const struct arguments *arguments);
