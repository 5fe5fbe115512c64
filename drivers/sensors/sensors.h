/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temperatures as the kernel's hwmon class gives them (Documentation/hwmon/sysfs-interface.rst), and NVIDIA's
 * own driver, which has no part in that class, by its library.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SENSORS_NAME_BYTES 96u
/* AMD's processors since family 17h throttle themselves at 89 to 100 degrees; Ryzen 7000 works at 95 by
 * design. */
#define SENSORS_K10TEMP_CRITICAL 100.0

/* What a sensor is part of, by its chip's driver. */
enum sensors_part { SENSORS_OTHER, SENSORS_CPU, SENSORS_GPU, SENSORS_PARTS };

struct sensors_reading {
	char name[SENSORS_NAME_BYTES]; /* "chip label" or "chip temp1" */
	enum sensors_part part;
	double celsius;
	double max_celsius,
		critical_celsius; /* as the chip says; NAN = it says none, or nonsense; k10temp, which
				   * says none of a Zen processor, is SENSORS_K10TEMP_CRITICAL */
};

typedef void sensors_each(void *context, const struct sensors_reading *reading);

/* Calls `each` for every sensor of `folder`, /sys/class/hwmon, that can be read. A box without sensors has
 * none: no error. Blocks as long as a chip takes to answer, a GPU that sleeps some seconds. */
void sensors_temperatures(const char *folder, sensors_each *each, void *context);

/* The same for the GPUs of NVIDIA's own driver, by libnvidia-ml.so.1, which is loaded with the first call;
 * none where there is no such library. One thread of a process. */
void sensors_nvidia(sensors_each *each, void *context);

/* The first line of a file of sysfs, without its end. */
bool sensors_line(const char *path, char *out, size_t size);
