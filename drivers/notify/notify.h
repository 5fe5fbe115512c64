/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service tells systemd (sd_notify(3)). Without NOTIFY_SOCKET in the environment every call does
 * nothing.
 */
#pragma once

#include "core/cleanup.h"

/* READY=1 and a status text: work can really start. */
void notify_ready(const char *format, ...) PRINTF(1, 2);
/* STATUS= at each change of phase. */
void notify_status(const char *format, ...) PRINTF(1, 2);
