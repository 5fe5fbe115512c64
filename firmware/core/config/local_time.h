/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of run.days, run.at, run.ends_at and run.zone: weekdays, times of day and time zones. Each
 * function returns false for a text of another form. core/box/night.h turns them into instants.
 */
#pragma once

#include <stdbool.h>

#define LOCAL_DAYS_A_WEEK 7
#define LOCAL_NO_TIME     1440u /* minutes of a day: what an empty text means */
#define LOCAL_ZONE_BYTES  64u   /* longest name of a zone, with its NUL */

/* Reads "mon..fri,sun" as a set: bit 0 is Monday. */
bool local_days_parse(const char *text, unsigned *ret_days);
/* Reads "HH:MM", 00:00 .. 23:59, as minutes after midnight; "" is LOCAL_NO_TIME. */
bool local_time_parse(const char *text, unsigned *ret_minutes);
/* Tells whether the system has this zone: UTC, or a name of [A-Za-z0-9_+/-] below /usr/share/zoneinfo. */
bool local_zone_exists(const char *text);
