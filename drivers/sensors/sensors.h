/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperatures as the kernel's hwmon class gives them.
 */
#pragma once

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SENSORS_NAME_BYTES 96u

/* Calls `each` for every sensor that can be read; `name` is "chip label" or "chip temp1". `root` stands
 * before /sys
 * ("" on a real box). A box without sensors has none: no error. */
void sensors_temperatures(const char *root, void (*each)(void *context, const char *name, double celsius),
			  void *context);
/* The first line of a file of sysfs, without its end. */
bool sensors_line(const char *path, char *out, size_t size);
