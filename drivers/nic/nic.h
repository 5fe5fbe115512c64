/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cores are near a network interface, from sysfs, and threads on them.
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
	bool known;               /* false: sysfs does not say, all cores are taken */
};

/* `nic` is an interface name or "auto" (the default route's); `cores` a CPU list or "auto". `root` stands
 * before /proc and /sys ("" on a real box). Only cores that this process may use are given. Errors: -EINVAL a
 * named interface or core that is not there. */
MUST_CHECK int nic_cores_find(const char *root, const char *nic, const char *cores,
			      struct nic_cores *ret_cores, struct error *err);

/* "0-3,8" */
void nic_cores_text(const cpu_set_t *set, char *out, size_t size);

/* What became of an interface's interrupts and receive queues. */
struct nic_steered {
	unsigned irqs, moved; /* interrupts; those that are on the cores now, the others are refused */
	unsigned queues;      /* for receiving */
	bool spread;          /* what they receive is handed on to all of the cores */
	char why[160];        /* what the kernel refused first; "" = nothing */
};

/* Put the message-signalled interrupts of a network interface on `cores`, one after the other, and its
 * receive packet steering (RPS) with them. By root; `root` as above. What is refused stays as it is. */
void nic_steer(const char *root, const char *nic, const cpu_set_t *cores, struct nic_steered *ret_steered);

/* Bind the calling thread. */
void nic_pin(const cpu_set_t *set);
