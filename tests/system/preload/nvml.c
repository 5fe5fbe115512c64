/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 for tests (NVML API Reference Guide): one GPU, whose temperature is in the file
 * KILN_ROOT/nvml. Loaded through LD_LIBRARY_PATH under that name, not through LD_PRELOAD.
 */
#include <stdio.h>
#include <stdlib.h>

#define SUCCESS         0
#define ERROR_ARGUMENT  2
#define ERROR_NOT_FOUND 6

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned bytes);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperatureThreshold(void *device, int threshold, unsigned *celsius);

static int gpu;

int nvmlInit_v2(void)
{
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = 1;
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = &gpu;
	return index == 0 ? SUCCESS : ERROR_NOT_FOUND;
}

int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
	(void)snprintf(name, bytes, "NVIDIA Test");
	return device == &gpu ? SUCCESS : ERROR_ARGUMENT;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	char path[4096];
	FILE *file;
	int found;

	(void)snprintf(path, sizeof(path), "%s/nvml", getenv("KILN_ROOT"));
	file = fopen(path, "re");
	if (!file || device != &gpu || sensor != 0)
		return ERROR_ARGUMENT;
	found = fscanf(file, "%u", celsius);
	(void)fclose(file);
	return found == 1 ? SUCCESS : ERROR_NOT_FOUND;
}

int nvmlDeviceGetTemperatureThreshold(void *device, int threshold, unsigned *celsius)
{
	/* limits in degrees: shutdown, slowdown, memory, GPU */
	static const unsigned limits[] = { 98, 95, 0, 87 };

	if (device != &gpu || threshold < 0 || threshold > 3)
		return ERROR_ARGUMENT;
	*celsius = limits[threshold];
	return SUCCESS;
}
