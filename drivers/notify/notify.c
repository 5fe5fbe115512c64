/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/notify/notify.h"

#include "core/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
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

void notify_extend(unsigned seconds)
{
	static _Atomic uint64_t said_us;
	uint64_t now_us = clock_us(), last_us = atomic_load(&said_us);

	if ((last_us && now_us - last_us < 1000000) ||
	    !atomic_compare_exchange_strong(&said_us, &last_us, now_us))
		return;
	(void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, (uint64_t)seconds * 1000000);
}
