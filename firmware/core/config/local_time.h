/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the texts of run.days, run.at, run.ends_at and run.zone: weekdays, times of day and time zones. Each
 * function returns false for a text of the wrong form. core/box/night.h computes instants from the results.
 */
#pragma once

#include <stdbool.h>

#define LOCAL_DAYS_A_WEEK 7
#define LOCAL_NO_TIME     1440u /* the result for an empty text; a day has 1440 minutes, 0 .. 1439 */
#define LOCAL_ZONE_BYTES  64u   /* longest name of a zone, with its NUL */

/* Parses weekdays such as "mon..fri,sun" as a set of bits; bit 0 is Monday. "none" is the empty set. */
bool local_days_parse(const char *text, unsigned *ret_days);
/* Parses "HH:MM", 00:00 .. 23:59, as minutes after midnight; the result of "" is LOCAL_NO_TIME. */
bool local_time_parse(const char *text, unsigned *ret_minutes);
/* Tells whether the system knows this time zone: UTC, or a file with a name of [A-Za-z0-9_+/-] below
 * /usr/share/zoneinfo. */
bool local_zone_exists(const char *text);
