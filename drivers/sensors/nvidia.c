/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's library NVML, which nvidia-smi uses, too (NVML API Reference Guide, "Device Queries"). NVML is
 * part of NVIDIA's driver, so it is loaded at run time, on boxes that have it.
 */
#include "drivers/sensors/memory.h"

#include <dlfcn.h>
#include <math.h>

#define LIBRARY            "libnvidia-ml.so.1"
#define SUCCESS            0
#define SENSOR_GPU         0 /* a value of nvmlTemperatureSensors_t */
#define THRESHOLD_SLOWDOWN 1 /* nvmlTemperatureThresholds_t: above this the hardware slows itself down */
#define THRESHOLD_GPU_MAX  3 /* above this the driver slows the GPU down */

#define UNCORRECTED  1 /* nvmlMemoryErrorType_t */
#define SINCE_LOADED 0 /* NVML_VOLATILE_ECC of nvmlEccCounterType_t: since the driver was loaded */

typedef struct nvml_device *device_t;

static struct {
	bool tried, usable;
	int (*init)(void);
	int (*count)(unsigned *ret_count);
	int (*device)(unsigned index, device_t *ret_device);
	int (*name)(device_t device, char *out, unsigned size);
	int (*temperature)(device_t device, int sensor, unsigned *ret_celsius);
	int (*threshold)(device_t device, int threshold, unsigned *ret_celsius);
	/* NULL = the library is too old */
	int (*errors)(device_t device, int type, int counter, unsigned long long *ret_count);
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
	if (library)
		*(void **)&nvml.errors = dlsym(library, "nvmlDeviceGetTotalEccErrors");
	return library && nvml.init() == SUCCESS;
}

/* Loads the library at the first call. Returns the number of GPUs. */
static unsigned count_gpus(void)
{
	unsigned count = 0;

	if (!nvml.tried)
		nvml.usable = load();
	nvml.tried = true;
	return nvml.usable && nvml.count(&count) == SUCCESS ? count : 0;
}

static void name_gpu(device_t device, unsigned index, char out[static SENSORS_NAME_BYTES])
{
	char name[64] = "NVIDIA";

	(void)nvml.name(device, name, sizeof(name));
	(void)snprintf(out, SENSORS_NAME_BYTES, "%s gpu%u", name, index);
}

static double threshold_of(device_t device, int which)
{
	unsigned celsius;

	return nvml.threshold(device, which, &celsius) == SUCCESS ? (double)celsius : (double)NAN;
}

void sensors_nvidia(sensors_each *each, void *context)
{
	const unsigned count = count_gpus();
	unsigned celsius;

	for (unsigned i = 0; i < count; i++) {
		struct sensors_reading reading = { .component = SENSORS_GPU };
		device_t device;

		if (nvml.device(i, &device) != SUCCESS ||
		    nvml.temperature(device, SENSOR_GPU, &celsius) != SUCCESS)
			continue;
		name_gpu(device, i, reading.name);
		reading.celsius = celsius;
		reading.max_celsius = threshold_of(device, THRESHOLD_GPU_MAX);
		reading.critical_celsius = threshold_of(device, THRESHOLD_SLOWDOWN);
		each(context, &reading);
	}
}

void memory_nvidia(memory_each *each, void *context)
{
	const unsigned count = count_gpus();

	for (unsigned i = 0; i < count && nvml.errors; i++) {
		char name[SENSORS_NAME_BYTES];
		unsigned long long errors;
		device_t device;

		if (nvml.device(i, &device) != SUCCESS ||
		    nvml.errors(device, UNCORRECTED, SINCE_LOADED, &errors) != SUCCESS)
			continue;
		name_gpu(device, i, name);
		each(context, name, errors);
	}
}
