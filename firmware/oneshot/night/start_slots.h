/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units of slots 1, 2 ... (core/base/slot.h) under systemd. kiln-oneshot begin of slot 0 asks for them,
 * because it may start no unit itself: it makes the file SERIES_START_FILE, for which kiln-slots.path waits.
 * kiln-oneshot start-slots, as root, removes the file and starts kiln-run@N.target of each slot
 * that does not work yet. systemd starts it again after a failure: the request is not lost with the process.
 */
#pragma once

#include "core/base/error.h"

/* Waits until no unit of another slot works, where several work on the unfinished series: before slot 0 ends
 * the night. Blocks: for hours; also while systemd gives no answer. */
void start_slots_wait_rest(void);
