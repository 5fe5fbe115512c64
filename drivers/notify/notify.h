/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends messages of a service to systemd (sd_notify(3)). Without NOTIFY_SOCKET in the environment every call
 * does nothing. Any thread may call; no call blocks.
 */
#pragma once

#include "core/base/cleanup.h"

/* Sends READY=1, which means that the service can work now, and a status text. */
void notify_ready(const char *format, ...) PRINTF(1, 2);
/* Sends a status text (STATUS=). To be called at each change of phase. */
void notify_status(const char *format, ...) PRINTF(1, 2);
/* Allows the service `seconds` from now until its READY=1. To be called again and again during a long start
 * that makes progress. Sends at most one message per second. */
void notify_extend(unsigned seconds);
