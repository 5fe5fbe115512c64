/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's library NVML, which nvidia-smi uses, too (NVML API Reference Guide, "Device Queries"). NVML is
 * part of NVIDIA's driver, so it is loaded at run time, on boxes that have it.
 */
#include "drivers/sensors/sensors.h"

#include <dlfcn.h>
#include <math.h>

#define LIBRARY            "libnvidia-ml.so.1"
#define SUCCESS            0
#define SENSOR_GPU         0 /* a value of nvmlTemperatureSensors_t */
#define THRESHOLD_SLOWDOWN 1 /* nvmlTemperatureThresholds_t: above this the hardware slows itself down */
#define THRESHOLD_GPU_MAX  3 /* above this the driver slows the GPU down */

typedef struct nvml_device *device_t;

static struct {
	bool tried, usable;
	int (*init)(void);
	int (*count)(unsigned *ret_count);
	int (*device)(unsigned index, device_t *ret_device);
	int (*name)(device_t device, char *out, unsigned size);
	int (*temperature)(device_t device, int sensor, unsigned *ret_celsius);
	int (*threshold)(device_t device, int threshold, unsigned *ret_celsius);
} nvml;

static bool load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{ "nvmlInit_v2", &nvml.init },
		{ "nvmlDeviceGetCount_v2", &nvml.count },
		{ "nvmlDeviceGetHandleByIndex_v2", &nvml.device },
		{ "nvmlDeviceGetName", &nvml.name },
		{ "nvmlDeviceGetTemperature", &nvml.temperature },
		{ "nvmlDeviceGetTemperatureThreshold", &nvml.threshold },
	};

	for (size_t i = 0; library && i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!(*(void **)symbols[i].to = dlsym(library, symbols[i].name)))
			return false;
	return library && nvml.init() == SUCCESS;
}

static double threshold_of(device_t device, int which)
{
	unsigned celsius;

	return nvml.threshold(device, which, &celsius) == SUCCESS ? (double)celsius : (double)NAN;
}

void sensors_nvidia(sensors_each *each, void *context)
{
	unsigned count = 0, celsius;

	if (!nvml.tried)
		nvml.usable = load();
	nvml.tried = true;
	if (!nvml.usable || nvml.count(&count) != SUCCESS)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct sensors_reading reading = { .component = SENSORS_GPU };
		char name[64] = "NVIDIA";
		device_t device;

		if (nvml.device(i, &device) != SUCCESS ||
		    nvml.temperature(device, SENSOR_GPU, &celsius) != SUCCESS)
			continue;
		(void)nvml.name(device, name, sizeof(name));
		(void)snprintf(reading.name, sizeof(reading.name), "%s gpu%u", name, i);
		reading.celsius = celsius;
		reading.max_celsius = threshold_of(device, THRESHOLD_GPU_MAX);
		reading.critical_celsius = threshold_of(device, THRESHOLD_SLOWDOWN);
		each(context, &reading);
	}
}
