/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that waits for something outside of this box, and that kiln-uploadd asks for again. Each has two files
 * in PATH_RUNS, without content:
 *
 *     unjudged, judge  the model of a night (promote.against), because the wait for its uploads ended before
 *                      the store had all of its files, or because a server was away. kiln-oneshot finished
 *                      and kiln-oneshot promote note it; kiln-promote.path starts kiln-oneshot promote
 *
 *     unsent, send     a report, because the branch that gets it has uncommitted changes of others.
 *                      kiln-oneshot report notes it; kiln-report.path starts kiln-oneshot report
 *
 * The program notes the first file. kiln-uploadd renames it to the second one after growing pauses, the model
 * of a night only once the store has all files. systemd then starts the program, which removes both files
 * before it begins.
 *
 * A crash between two steps loses nothing: after a boot kiln-oneshot resume looks whether the last night has
 * its outcome, and whether reports are pending.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

enum later { LATER_JUDGE, LATER_REPORT, LATERS };

/* Notes that the work is to be done later. */
MUST_CHECK int later_note(enum later work, struct error *err);
bool later_is_noted(enum later work);
/* Asks for the work, which was noted. */
MUST_CHECK int later_ask(enum later work, struct error *err);
/* The work begins, or is pointless: removes both files. */
void later_forget(enum later work);
