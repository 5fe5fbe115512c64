/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alarm of a hardware clock, which switches a box on that is off or asleep: PATH_RTC/rtc<N>/wakealarm, as
 * the kernel's Documentation/ABI/testing/sysfs-class-rtc has it. Only clocks that can wake the box have that
 * file. The alarm is one of its own time, be that UTC, local time or wrong, so that it is set by how far off
 * the moment is. Only root may set it. Nothing here blocks for longer than the clock's bus.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

/* An alarm at `wake_s` (Unix time), in the place of any other, on the first clock that has one; it is read
 * back before this returns 0.
 * Errors: -ENODEV none of the box's clocks can wake it, or what can is switched off; -ERANGE the moment is
 * past; -EIO the clock does not take it: many reach no further than a day ahead. */
MUST_CHECK int alarm_set(int64_t wake_s, struct error *err);
