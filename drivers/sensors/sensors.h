/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperatures of the kernel's hwmon class (Documentation/hwmon/sysfs-interface.rst), and of the GPUs of
 * NVIDIA's own driver, which is not in that class. Threads: the caller's.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SENSORS_NAME_BYTES 96u
/* AMD's processors since family 17h throttle themselves at 89 to 100 degrees; Ryzen 7000 works at 95 by
 * design. */
#define SENSORS_K10TEMP_CRITICAL 100.0

/* The part of the box that a sensor measures, known by its chip's driver. */
enum sensors_part { SENSORS_OTHER, SENSORS_CPU, SENSORS_GPU, SENSORS_PARTS };

struct sensors_reading {
	char name[SENSORS_NAME_BYTES]; /* "chip label" or "chip temp1" */
	enum sensors_part part;
	double celsius;
	double max_celsius,
		critical_celsius; /* from the chip; NAN = the chip gives none, or nonsense. The driver
				   * k10temp gives none for Zen: then SENSORS_K10TEMP_CRITICAL */
};

typedef void sensors_each(void *context, const struct sensors_reading *reading);

/* Calls `each` for every sensor below `folder` (/sys/class/hwmon) that can be read. No sensors are no error.
 * Blocks as long as the chips take to answer: some seconds for a GPU that sleeps. */
void sensors_temperatures(const char *folder, sensors_each *each, void *context);

/* Calls `each` for every GPU of NVIDIA's own driver, by libnvidia-ml.so.1, which the first call loads.
 * Without that library there are none. For one thread of a process. */
void sensors_nvidia(sensors_each *each, void *context);

/* Reads the first line of a file of sysfs, without its newline. */
bool sensors_line(const char *path, char *out, size_t size);
