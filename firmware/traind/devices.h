/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL devices of the machine, for `kiln node`: kiln-controld has no access to them, so the trainer
 * notes what it found and why it takes one of them. The note is a list, GPUs first:
 *
 *     [{"platform", "name", "driver", "type": "gpu" or "cpu", "memory_bytes", "pci", "uuid", "link",
 *       "numa_node", "index", "taken", "why"}]
 *
 * null is what is not known. `index` is the number by which device.id may name the device; null where
 * device.platform or device.type is for another. `why` says why the device is not taken.
 */
#pragma once

#include "drivers/gpu/choose.h"

/* Writes the note PATH_DEVICES, whose folder must exist; a trainer in another slot than 0 leaves it alone.
 * Where that fails it logs a warning. `root` is prepended to /sys ("" except in tests). */
void devices_note(const char *root, const struct gpu_wish *wish);
