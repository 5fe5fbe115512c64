/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a service to systemd (sd_notify(3)). Without NOTIFY_SOCKET in the environment every call does
 * nothing. Any thread may call; no call blocks.
 */
#pragma once

#include "core/base/cleanup.h"

/* Sends READY=1 and a status text: the service can work now. */
void notify_ready(const char *format, ...) PRINTF(1, 2);
/* Sends STATUS=, at each change of phase. */
void notify_status(const char *format, ...) PRINTF(1, 2);
/* Extends the time that is left until READY=1 to so many seconds from now. For a wait that makes progress,
 * before READY=1. May be called at any rate: sends at most one message a second. */
void notify_extend(unsigned seconds);
