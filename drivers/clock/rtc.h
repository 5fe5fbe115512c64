/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether the box has a hardware clock that ran while the box was off: PATH_RTC/rtc<N>/since_epoch
 * (Documentation/ABI/testing/sysfs-class-rtc). Threads: none; it runs in the caller's thread. Owns
 * nothing. Crash: nothing is stored; sysfs is only read.
 */
#pragma once

#include "core/base/error.h"

/* Upper bound of the difference between a good hardware clock and the system's clock. A good clock may be set
 * to local time, which differs by hours; a clock with an empty battery differs by years.
 */
#define RTC_OFF_MAX_S (24 * 3600)

/* Returns 0 where a hardware clock agrees with the system's clock to within RTC_OFF_MAX_S. Errors, with a
 * text to which the caller adds the end of the sentence: -ENODEV the box has no hardware clock; -ERANGE no
 * hardware clock agrees.
 */
MUST_CHECK int rtc_check(struct error *err);
