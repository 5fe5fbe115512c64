/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the manual pages that are made from tables, so that page and program always agree. The files in
 * rootfs/man are this output; a test compares them. Each function writes one whole page to `out`. A write
 * error is not returned: check ferror(out).
 *
 * Threads: none; they run in the caller's thread. Owns: `out` belongs to the caller. Crash: nothing is
 * stored; only the output is incomplete.
 */
#pragma once

#include "cli/base/verb.h"

#include <stdio.h>

/* kiln(1), from the table of verbs, which is NULL-terminated. */
void page_kiln(const struct verb *const *verbs, FILE *out);
/* kiln.conf(5), from the table of keys (core/config/config_keys.h) and the table of layers. */
void page_config(FILE *out);
/* kiln-control(7), from the tables of methods and errors (core/control/control.h). */
void page_control(FILE *out);
/* kiln-events(7), from the tables of events and fields (core/base/events.h). */
void page_events(FILE *out);
