/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alarm of a hardware clock, which switches on a box that is off or asleep: PATH_RTC/rtc<N>/wakealarm
 * (Documentation/ABI/testing/sysfs-class-rtc). Only clocks that can wake the box have that file. The clock
 * compares the alarm with its own time, which may be UTC, local time or wrong; so the alarm is set to the
 * clock's time plus the seconds until the wanted moment. Only root may set it. Threads: none; it runs in the
 * caller's thread. Blocks: for the time that the clock takes to answer.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* Sets the alarm of the first clock that has one to `wake_s` (Unix time), replacing an earlier alarm, and
 * reads it back. Errors: -ENODEV no clock of the box can wake it, or waking is switched off; -ERANGE the
 * moment is past; -EIO the clock did not accept the alarm: many clocks accept only alarms within the next
 * day. */
MUST_CHECK int alarm_set(int64_t wake_s, struct error *err);

/* Checks that a clock of the box can wake it, as alarm_set() does, and sets nothing. Anybody may call it.
 * Errors: -ENODEV. */
MUST_CHECK int alarm_check(struct error *err);
