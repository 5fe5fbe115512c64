/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds in sysfs the cores near a network interface, and puts threads and the interface's interrupts on them.
 * A packet that is received on a core of the interface's own memory node crosses no link between processors.
 * Threads: none; it runs in the caller's thread. State: only the kernel's settings, which are lost at a
 * reboot. Owns nothing: results lie in the caller's structs. Crash: settings made before the crash stay; the
 * next nic_steer() makes all settings again.
 */
#pragma once

#include "core/base/error.h"

#include <sched.h>
#include <stdbool.h>

#define NIC_NAME_BYTES 64u

struct nic_cores {
	char nic[NIC_NAME_BYTES]; /* name of the interface; "" = none was found */
	cpu_set_t network;        /* cores for network threads */
	/* cores for decode workers: all that are not in `network` or, where these are fewer than two, all
	 * cores */
	cpu_set_t decode;
	/* false: sysfs does not say which cores are near, so `network` has all cores */
	bool known;
};

/* Finds the cores. `nic` is the name of an interface or "auto" (that of the default route); `cores` a CPU
 * list or "auto". `root` is prepended to /proc and /sys ("" except in tests). The result has only cores that
 * this process may use. Errors: -EINVAL `nic` does not exist, or `cores` has a core that this process may not
 * use. */
MUST_CHECK int nic_cores_find(const char *root, const char *nic, const char *cores,
			      struct nic_cores *ret_cores, struct error *err);

/* Writes a set as "0-3,8". */
void nic_cores_text(const cpu_set_t *set, char *out, size_t size);

/* What nic_steer() did. */
struct nic_steered {
	/* irqs: all interrupts; moved: those that are on `cores` now (the kernel refused the others) */
	unsigned irqs, moved;
	unsigned queues; /* number of receive queues */
	bool spread;     /* RPS is on: packets of every queue are distributed over all `cores` */
	char why[160];   /* the kernel's first error, as text; "" = none */
};

/* Distributes the message-signalled interrupts of a network interface over `cores`, and sets its receive
 * packet steering (RPS). Needs root. `root` as for nic_cores_find(). An interrupt that the kernel refuses to
 * move stays on its core.
 */
void nic_steer(const char *root, const char *nic, const cpu_set_t *cores, struct nic_steered *ret_steered);

/* Binds the calling thread to the cores. An error is ignored. */
void nic_pin(const cpu_set_t *set);
