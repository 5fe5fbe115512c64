/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/notify/notify.h"

#include <stdarg.h>
#include <systemd/sd-daemon.h>

#define STATUS_BYTES 512

void notify_ready(const char *format, ...)
{
	char status[STATUS_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_status(const char *format, ...)
{
	char status[STATUS_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(status, sizeof(status), format, args);
	va_end(args);
	(void)sd_notifyf(0, "STATUS=%s", status);
}
