/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs once and ends: verbs of one program, one file each. A verb gets its own name in argv[0].
 */
#pragma once

#include "core/error.h"

/* begin.c: see core/run.h. Prints the run's id. */
int oneshot_begin(int argc, char **argv, struct error *err);
