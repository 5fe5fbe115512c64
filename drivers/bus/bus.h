/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the system bus (D-Bus), for drivers that talk to one service there (manager, rauc). Every
 * call over the connection waits for the answer, for at most `wait_s` of bus_open(). Threads: none; it runs
 * in the caller's thread, one at a time. Owns: the connection belongs to the caller of bus_open(). Crash:
 * nothing is stored; the kernel closes the connection, and the service goes on with a call that it has
 * received.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>
#include <systemd/sd-bus.h>

/* Connects to the system bus. No call over the bus waits for longer than `wait_s`. `whom` is the service's
 * name for error messages. The caller calls bus_close(). */
MUST_CHECK int bus_open(const char *whom, uint32_t wait_s, sd_bus **ret_bus, struct error *err);
/* Sends the messages that are still queued, then closes the connection. NULL is ignored. */
void bus_close(sd_bus *bus);
