/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the box has a hardware clock that kept the time while it was off: PATH_RTC/rtc<N>/since_epoch
 * (Documentation/ABI/testing/sysfs-class-rtc).
 */
#pragma once

#include "core/base/error.h"

/* One whose battery is empty begins with some year; one that keeps local time is hours off. */
#define RTC_OFF_MAX_S (24 * 3600)

/* 0: one of them says what the system's clock does, to RTC_OFF_MAX_S. Errors, as the rest of a sentence on
 * this box: -ENODEV it has none; -ERANGE the one it has says another time. */
MUST_CHECK int rtc_kept_time(struct error *err);
