/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/notify/notify.h"

#include "core/base/clock.h"
#include "core/base/visible.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <systemd/sd-daemon.h>

#define STATUS_BYTES 512

/* A line end in a status would begin another assignment to systemd. */
static void send_status(const char *before, const char *format, va_list args)
{
	char raw[STATUS_BYTES], status[STATUS_BYTES];

	(void)vsnprintf(raw, sizeof(raw), format, args);
	(void)sd_notifyf(0, "%sSTATUS=%s", before, visible(raw, status, sizeof(status)));
}

void notify_ready(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_status("READY=1\n", format, args);
	va_end(args);
}

void notify_status(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_status("", format, args);
	va_end(args);
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
