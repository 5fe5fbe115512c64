/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor: the newest version of the system that was found good on this box. A bundle of an older version
 * is signed as well as any other, but its weaknesses are known; so only a person of role admin may install
 * it, with
 * --allow-downgrade.
 *
 * The floor is kept in the file `floor` of PATH_ESP_SLOTS, which outlives updates and a factory reset.
 * kiln-mark-good raises it to the version of the running slot when that slot is good; nothing lowers it,
 * because a box that fell back to its other slot runs an older version, too. The version of the running slot
 * counts even where the file is missing, damaged or lower. A system without a version (no Kiln image) and
 * without the file has no floor.
 *
 * Threads: any. Crash: the file is replaced by rename.
 */
#pragma once

#include "core/base/error.h"
#include "core/box/semver.h"

#include <stdbool.h>

/* Writes the floor to `out`, "" = there is none. Returns out. */
char *floor_get(char out[static SEMVER_BYTES]);

/* Raises the floor to the version of the running system, if that is newer. Errors: of the file. */
MUST_CHECK int floor_raise(struct error *err);

/* Errors: -EPERM `version` is older than the floor; -EINVAL it cannot be compared. With an error, err has the
 * sentence for people. */
MUST_CHECK int floor_check(const char *version, struct error *err);

/* Returns whether the present update may be older than the floor. Only kiln-steer, as root, writes this down,
 * by floor_allow(); the daemons cannot. */
bool floor_is_open(void);

/* Allows (`open`) or forbids an older version for the update that starts next. */
MUST_CHECK int floor_allow(bool open, struct error *err);
