/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service tells systemd (sd_notify(3)). Without NOTIFY_SOCKET in the environment every call does
 * nothing.
 */
#pragma once

#include "core/base/cleanup.h"

/* READY=1 and a status text: work can really start. */
void notify_ready(const char *format, ...) PRINTF(1, 2);
/* STATUS= at each change of phase. */
void notify_status(const char *format, ...) PRINTF(1, 2);
/* Before READY=1, of a wait that gets on: so many seconds from now instead of what is left of
 * TimeoutStartSec=. Any thread, as often as it likes: systemd hears it once a second. */
void notify_extend(unsigned seconds);
