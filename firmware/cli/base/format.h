/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. NaN stands for an unknown number and becomes "-". */
#pragma once

#define FORMAT_BYTES 48u

/* Formats `value` by a printf format for one double, "%.1f" for example. Returns `out` or "-". */
const char *format_number(double value, const char *format, char out[static FORMAT_BYTES]);
/* "999 B", "1.0 kB", "2.5 GB": steps of 1000. Returns `out` or "-". */
const char *format_bytes(double bytes, char out[static FORMAT_BYTES]);
/* "119 s", "2 min", "2.0 h". A negative span is 0 s. Returns `out` or "-". */
const char *format_span(double seconds, char out[static FORMAT_BYTES]);
/* "2026-01-31 02:30:00", local time, of seconds since 1970. Returns `out` or "-". */
const char *format_time(double time_s, char out[static FORMAT_BYTES]);
