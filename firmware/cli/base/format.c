/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/format.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

const char *format_number(double value, const char *format, char out[static FORMAT_BYTES])
{
	if (isnan(value))
		return "-";
	// NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the callers' own
	(void)snprintf(out, FORMAT_BYTES, format, value);
	return out;
}

const char *format_bytes(double bytes, char out[static FORMAT_BYTES])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	size_t unit = 0;

	if (isnan(bytes))
		return "-";
	while (bytes >= 1000 && unit < 4) {
		bytes /= 1000;
		unit++;
	}
	(void)snprintf(out, FORMAT_BYTES, "%.*f %s", unit ? 1 : 0, bytes, units[unit]);
	return out;
}

const char *format_span(double seconds, char out[static FORMAT_BYTES])
{
	if (isnan(seconds))
		return "-";
	if (seconds < 0)
		seconds = 0;
	if (seconds < 120)
		(void)snprintf(out, FORMAT_BYTES, "%.0f s", seconds);
	else if (seconds < 7200)
		(void)snprintf(out, FORMAT_BYTES, "%.0f min", seconds / 60);
	else
		(void)snprintf(out, FORMAT_BYTES, "%.1f h", seconds / 3600);
	return out;
}

const char *format_time(double time_s, char out[static FORMAT_BYTES])
{
	const time_t at = isnan(time_s) ? 0 : (time_t)time_s;
	struct tm tm;

	if (isnan(time_s) || !localtime_r(&at, &tm) || !strftime(out, FORMAT_BYTES, "%Y-%m-%d %H:%M:%S", &tm))
		return "-";
	return out;
}
