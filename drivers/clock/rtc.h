/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether the box has a hardware clock that ran while the box was off: PATH_RTC/rtc<N>/since_epoch
 * (Documentation/ABI/testing/sysfs-class-rtc). Threads: the caller's.
 */
#pragma once

#include "core/base/error.h"

/* A clock that is set to local time is hours off and still good; a clock with an empty battery is years off.
 */
#define RTC_OFF_MAX_S (24 * 3600)

/* Returns 0 where a hardware clock agrees with the system's clock to within RTC_OFF_MAX_S. Errors, whose text
 * is the beginning of a sentence: -ENODEV the box has no hardware clock; -ERANGE its clock says another time.
 */
MUST_CHECK int rtc_kept_time(struct error *err);
