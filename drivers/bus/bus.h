/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the system bus of those who talk to one service there: each call waits for its answer,
 * for as long as was said when it was opened.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <systemd/sd-bus.h>

/* `whom`: the service, for the error. The caller closes it by bus_close(). */
MUST_CHECK int bus_open(const char *whom, uint32_t wait_s, sd_bus **ret_bus, struct error *err);
/* What was queued is sent first. NULL is none. */
void bus_close(sd_bus *bus);
