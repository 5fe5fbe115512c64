/* SPDX-License-Identifier: Apache-2.0 */
/* Where the GPU is, by what sysfs says: for programs that run before the trainer and have no access to
 * OpenCL. */
#pragma once

#include "drivers/gpu/choose.h"

#include <sched.h>

/* Finds the cores of the GPU's memory node. The GPU is the one whose PCI address the wish has or else, where
 * all GPUs of the machine are on the same node, any of them. Returns false where the wish is for a CPU, where
 * there is no GPU, or where GPUs are on several nodes. `root` is prepended to /sys ("" except in tests). */
bool gpu_place(const char *root, const struct gpu_wish *wish, cpu_set_t *ret_cores);

/* Returns the memory node (NUMA) for the ring: the node of the GPU, which reads each batch, where gpu_place()
 * finds it; else the node of the network's cores. */
int gpu_ring_node(const char *root, const struct gpu_wish *wish, const cpu_set_t *network);

/* How a device is plugged in. The texts are sysfs's (Documentation/ABI/testing/sysfs-bus-pci): "16.0 GT/s
 * PCIe", "16"; "" = not known. A GPU without work may slow its link down. */
struct gpu_link {
	char speed[32], speed_max[32], width[8], width_max[8];
	int node; /* memory node (NUMA), -1 = not known */
};
/* Reads the link of the device with this PCI address, as in struct gpu_listed; "" is no device. */
void gpu_link(const char *root, const char *pci, struct gpu_link *ret_link);
