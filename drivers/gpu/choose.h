/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the devices that OpenCL lists is meant. No state; no OpenCL. */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

#define GPU_LISTED_MAX 64u
#define GPU_NAME_BYTES 128u
#define GPU_PCI_BYTES  16u /* "0000:3b:00.0" */
#define GPU_UUID_BYTES 33u /* 16 bytes in hex */

struct gpu_listed {
	char platform[GPU_NAME_BYTES], name[GPU_NAME_BYTES], driver[GPU_NAME_BYTES];
	char pci[GPU_PCI_BYTES], uuid[GPU_UUID_BYTES]; /* lower case; "" = the driver does not tell */
	uint64_t memory_bytes;
	bool cpu;
	bool too_old;                   /* below OpenCL 1.2: never taken */
	void *platform_handle, *handle; /* OpenCL's */
};

/* What a configuration asks for. */
struct gpu_wish {
	const char *platform; /* part of the platform's name, or "auto" */
	int type;             /* enum config_device; DEVICE_AUTO prefers a GPU to a CPU */
	/* "auto", the first device; an index, counted from 0 among the devices of OpenCL 1.2, of this
	 * platform and type; a PCI address, with or without its domain of four digits, or of eight as
	 * nvidia-smi prints it; a UUID, also with "GPU-" and dashes; else a part of the device's name. Upper
	 * and lower case are the same. */
	const char *id;
	/* Index among the devices that "auto" may mean, which are all of the type of the first one: trials
	 * side by side have a device each (core/base/slot.h). No other id uses it. */
	unsigned slot;
	/* Index of the rank on this box (core/base/slot.h), which counts like a slot. Ranks share a CPU. */
	unsigned rank;
};

/* Returns what a configuration asks for in this thread's slot; the texts stay the configuration's. */
struct gpu_wish gpu_wish_of(const struct config *config);

/* Tells whether an id is a PCI address, and writes it as "0000:3b:00.0". */
bool gpu_is_pci(const char *id, char ret_pci[static GPU_PCI_BYTES]);

/* Finds the device in a list that has all GPUs before all CPUs. Errors: -ENODEV no device fits; -EINVAL
 * several fit. The text lists the devices of this platform and type. */
MUST_CHECK int gpu_choose(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish,
			  unsigned *ret_index, struct error *err);

#define GPU_WHY_BYTES 256u

/* The answer of gpu_judge() about one device of a list. */
struct gpu_verdict {
	bool taken;
	bool candidate;          /* the device has the platform, the type and OpenCL 1.2 */
	unsigned index;          /* the number by which device.id may name a candidate */
	char why[GPU_WHY_BYTES]; /* the reason why the device is not taken; "" = it is */
};

/* Tells whether gpu_choose() takes the device, or why not. */
struct gpu_verdict gpu_judge(const struct gpu_listed *list, unsigned count, unsigned device,
			     const struct gpu_wish *wish);

/* Returns how many slots can have a device of their own: the number of devices that "auto" may mean; for
 * another id 1; 0 where none fits. */
unsigned gpu_usable(const struct gpu_listed *list, unsigned count, const struct gpu_wish *wish);
