/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of GPUs, which their drivers write into the kernel's log (drivers/gpu/fault.h), as events.
 *
 * Why from the journal: /dev/kmsg needs CAP_SYSLOG, and kiln-controld, which has no capability, may read the
 * journal already, where the kernel's messages are. So a fault is told also while no run is there.
 *
 * Order: zeroed -> kernel_sweep* -> kernel_done. One thread.
 */
#pragma once

#include <stdint.h>

#define KERNEL_TOLD 16u /* kinds of faults whose time is remembered */

struct kernel_log {
	struct sd_journal *journal; /* NULL = not open */
	uint64_t opened_ms;         /* when opening was tried last; 0 = never */
	struct kernel_told {
		char device[24];
		uint64_t xid, at_ms; /* at_ms 0 = no fault */
	} told[KERNEL_TOLD];
};

/* Sends an event for each fault that was logged since the call before; the first call only marks the place.
 * `now_ms` as clock_ms(). Where the journal cannot be read, tries again every 10 s. */
void kernel_sweep(struct kernel_log *log, uint64_t now_ms);
void kernel_done(struct kernel_log *log);
