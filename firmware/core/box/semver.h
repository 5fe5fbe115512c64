/* SPDX-License-Identifier: Apache-2.0 */
/* Compares versions by the rules of RAUC's option min-bundle-version, which RAUC has from 1.12 on (Debian 12
 * has 1.8): semantic versioning (semver.org, 11), where minor and patch may be missing and count as 0. A
 * pre-release
 * ("1.2.0-rc.1") is older than its release; what follows a '+' does not count. No state; allocates nothing.
 */
#pragma once

#include "core/base/error.h"

/* Room for a version; a longer one cannot be compared. */
#define SEMVER_BYTES 64u

/* Stores in *ret_order a number below, equal to or above 0 where `one` is older than, equal to or newer than
 * `other`. Errors: -EINVAL one of them is no version. */
MUST_CHECK int semver_compare(const char *one, const char *other, int *ret_order, struct error *err);
