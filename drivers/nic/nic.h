/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores near a network interface, from sysfs: which threads go there, and the interface's interrupts. A
 * packet that is received on a core of the interface's own memory node crosses no link between processors.
 * Threads: the caller's. State: none but the kernel's, which a reboot forgets.
 */
#pragma once

#include "core/base/error.h"

#include <sched.h>
#include <stdbool.h>

#define NIC_NAME_BYTES 64u

struct nic_cores {
	char nic[NIC_NAME_BYTES]; /* "" = none was found */
	cpu_set_t network;        /* for network threads */
	cpu_set_t decode;         /* for decode workers: the others where there are enough, else all */
	bool known;               /* false: sysfs does not say, so `network` is all cores */
};

/* Finds the cores. `nic` is the name of an interface or "auto" (that of the default route); `cores` a CPU
 * list or "auto". `root` is prepended to /proc and /sys ("" except in tests). Gives only cores that this
 * process may use. Errors: -EINVAL an interface or core that was named does not exist. */
MUST_CHECK int nic_cores_find(const char *root, const char *nic, const char *cores,
			      struct nic_cores *ret_cores, struct error *err);

/* Writes a set as "0-3,8". */
void nic_cores_text(const cpu_set_t *set, char *out, size_t size);

/* The result of nic_steer(). */
struct nic_steered {
	unsigned irqs, moved; /* interrupts in all; of these on `cores` now (the kernel refused the others) */
	unsigned queues;      /* receive queues */
	bool spread;          /* packets of every queue are handed on to all `cores` (RPS) */
	char why[160];        /* the first refusal of the kernel; "" = none */
};

/* Distributes the message-signalled interrupts of a network interface over `cores`, and sets its receive
 * packet steering (RPS). Needs root. `root` as for nic_cores_find(). An interrupt that the kernel refuses to
 * move stays.
 */
void nic_steer(const char *root, const char *nic, const cpu_set_t *cores, struct nic_steered *ret_steered);

/* Binds the calling thread to the cores. A refusal is ignored. */
void nic_pin(const cpu_set_t *set);
