/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperatures of the kernel's hwmon class (Documentation/hwmon/sysfs-interface.rst), and of the GPUs with
 * NVIDIA's own driver, which has no files in that class. Threads: none; it runs in the caller's thread.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SENSORS_NAME_BYTES 96u
/* Critical temperature for AMD's processors since family 17h, whose driver k10temp gives none. They slow down
 * by themselves at 89 to 100 degrees; Ryzen 7000 is made to work at 95. */
#define SENSORS_K10TEMP_CRITICAL 100.0

/* The component of the box whose temperature a sensor measures; the name of the chip's driver tells which. */
enum sensors_component { SENSORS_OTHER, SENSORS_CPU, SENSORS_GPU, SENSORS_COMPONENTS };

struct sensors_reading {
	char name[SENSORS_NAME_BYTES]; /* "CHIP LABEL" or, for a sensor without a label, "CHIP temp1" */
	enum sensors_component component;
	double celsius;
	double max_celsius,
		/* limits that the chip reports; NAN = none, or not plausible. For k10temp without a critical
		   value: SENSORS_K10TEMP_CRITICAL */
		critical_celsius;
};

typedef void sensors_each(void *context, const struct sensors_reading *reading);

/* Calls `each` for every sensor below `folder` (/sys/class/hwmon) that can be read. No sensors are no error.
 * Blocks for the time that the chips take to answer: some seconds for a GPU that sleeps. */
void sensors_temperatures(const char *folder, sensors_each *each, void *context);

/* Calls `each` for every GPU with NVIDIA's own driver. Asks libnvidia-ml.so.1, which the first call loads;
 * without that library calls nothing. Only one thread of a process may call it. */
void sensors_nvidia(sensors_each *each, void *context);

/* Reads the first line of a file of sysfs, without its newline. */
bool sensors_line(const char *path, char *out, size_t size);
