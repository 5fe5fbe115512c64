/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of cores: as text, near a device by what sysfs says, and as the place of a thread. No state; allocates
 * nothing; any thread may call. `root` is prepended to paths below /sys ("" except in tests).
 */
#pragma once

#include "core/base/error.h"

#include <sched.h>
#include <stdbool.h>

/* Reads the first line of a small file, without its newline. Returns false where the file cannot be read. */
bool cores_line(const char *root, const char *path, char *out, size_t size);

/* Parses a list of cores such as "0-3,8" (cpuset(7), "List format"). */
bool cores_parse(const char *text, cpu_set_t *ret_set);
/* Writes a set as "0-3,8". */
void cores_text(const cpu_set_t *set, char *out, size_t size);

/* Leaves the `nth` (0 ..) of `parts` parts of a set, each about as large, of cores in a row. A set with fewer
 * cores than parts stays as it is. */
void cores_divide(cpu_set_t *set, unsigned nth, unsigned parts);

/* Finds the cores that are near the device of a folder of sysfs, or else the cores of the device's memory
 * node (Documentation/ABI/testing/sysfs-bus-pci; node -1 = none). Returns false where sysfs does not say. */
bool cores_near(const char *root, const char *device, cpu_set_t *ret_set);

/* Binds the calling thread to the cores. An error is ignored. */
void cores_pin(const cpu_set_t *set);
