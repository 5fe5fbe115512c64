/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds in sysfs the cores near a network interface, and puts the interface's interrupts and queues on
 * them. A packet that is received on a core of the interface's own memory node crosses no link between
 * processors.
 *
 *     route.c      the interface by which the kernel sends to a host
 *     threads.c    the number of network threads that the link needs
 *     nic.c        the interface's devices, and the cores near them
 *     steer.c      interrupts and queues of these devices
 *     channels.c   the number of a device's queues
 *
 * Threads: none; it runs in the caller's thread. State: only the kernel's settings, which are lost at a
 * reboot. Owns nothing: results lie in the caller's structs. Crash: settings made before the crash stay; the
 * next nic_steer() makes all settings again.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <sched.h>
#include <stdbool.h>

#define NIC_NAME_BYTES  64u
#define NIC_DEVICES_MAX 16u

struct nic_cores {
	char nic[NIC_NAME_BYTES]; /* name of the interface; "" = none was found */
	/* The interfaces below it that have a device: the slaves of a bond, the interface that carries a
	 * VLAN, the ports of a bridge; `nic` itself where it has a device. */
	char device[NIC_DEVICES_MAX][NIC_NAME_BYTES];
	unsigned devices;
	uint64_t mbit_per_s; /* link speed of these devices together; 0 = sysfs says it of none of them */
	cpu_set_t network;   /* cores for network threads */
	/* cores for decode workers: all that are not in `network` or, where these are fewer than two, all
	 * cores */
	cpu_set_t decode;
	/* false: sysfs does not say which cores are near, so `network` has all cores */
	bool known;
};

/* Finds the cores. `nic` is the name of an interface or "auto": the interface that nic_route_note() wrote
 * down, or else that of the default route. `cores` is a CPU list or "auto": the cores near the devices.
 * `root` is prepended to /proc and /sys ("" except in tests). The result has only cores that this process may
 * use. Errors: -EINVAL `nic` does not exist, or `cores` has a core that this process may not use. */
MUST_CHECK int nic_cores_find(const char *root, const char *nic, const char *cores,
			      struct nic_cores *ret_cores, struct error *err);
/* The same, with the cores in `allowed` in the place of those that this process may use. */
MUST_CHECK int nic_cores_among(const char *root, const char *nic, const char *cores, const cpu_set_t *allowed,
			       struct nic_cores *ret_cores, struct error *err);

/* Finds the cores near an interface that has a device. Returns false where sysfs does not say. */
bool nic_device_cores(const char *root, const char *nic, cpu_set_t *ret_set);

#define NIC_WHY_BYTES 160u

/* How many threads fetch from each source, and the reason, as text for a person. */
struct nic_threads {
	unsigned count;
	char why[NIC_WHY_BYTES];
};
/* Returns fetch.network_threads or, where the key is 0: 1 for a link of up to 25 Gbit/s or of unknown speed,
 * and one for each started 25 Gbit/s of a faster link, but not more than `cores->network` has cores, and not
 * more than CONFIG_THREADS_MAX; the sources share them. Never more than a source has connections, as a thread
 * needs at least one. */
struct nic_threads nic_threads_of(const struct config *config, const struct nic_cores *cores);

/* Finds the interface by which the kernel sends to a host, a name or an address of IPv4 or IPv6: of its
 * addresses the first that has a route. Blocks: for the name service. Errors: -EHOSTUNREACH the name is not
 * known, or no address has a route. */
MUST_CHECK int nic_route_to(const char *host, char nic[static NIC_NAME_BYTES], struct error *err);
/* Writes the interface's name to PATH_ROUTE, for nic_cores_find() in other processes. */
MUST_CHECK int nic_route_note(const char *nic, struct error *err);

/* What nic_steer() found and did. Numbers are sums over all devices. */
struct nic_steered {
	/* irqs: all interrupts; moved: those that are on the chosen cores now (the kernel refused the others)
	 */
	unsigned irqs, moved;
	unsigned queues_before, queues; /* receive queues before and now */
	unsigned send_queues;           /* send queues that belong to cores now (XPS) */
	bool spread;                    /* RPS is on: packets of every queue are distributed over the cores */
	char why[160];                  /* the kernel's first error, as text; "" = none */
};

/* Decides about queues, interrupts and steering of all devices of `cores` as a whole, and makes the settings.
 * The cores of a device are those in cores->network that are near it or, where there are none, all of them.
 * The device gets one receive queue for each of its cores, if it can have so many; the interrupts are
 * distributed over the cores in the order of the queues; each core has a send queue (XPS); RPS distributes
 * the packets only where there are fewer receive queues than cores, or where an interrupt could not be moved.
 * Needs root. A setting that the kernel refuses stays as it is. */
void nic_steer(const char *root, const struct nic_cores *cores, struct nic_steered *ret_steered);

/* The number of queues of a device (ETHTOOL_GCHANNELS): receive queues, and the most that it can have. */
struct nic_channels {
	unsigned now, max;
};
/* Errors: -errno, where the driver does not tell. */
MUST_CHECK int nic_channels_get(const char *nic, struct nic_channels *ret_channels);
/* Sets the number of queues. The driver may take the link down for a moment. Errors: -errno. */
MUST_CHECK int nic_channels_set(const char *nic, unsigned count);
