/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnvidia-ml.so.1 for tests (NVML API Reference Guide): one GPU, whose temperature is in the file
 * KILN_ROOT/nvml and whose uncorrected errors are in KILN_ROOT/nvml_errors. Loaded through LD_LIBRARY_PATH
 * under that name, not through LD_PRELOAD.
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

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count);

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

/* Reads the number in a file of KILN_ROOT. */
static int read_number(const char *name, unsigned long long *number)
{
	char path[4096];
	FILE *file;
	int found;

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("KILN_ROOT"), name);
	file = fopen(path, "re");
	if (!file)
		return ERROR_NOT_FOUND;
	found = fscanf(file, "%llu", number);
	(void)fclose(file);
	return found == 1 ? SUCCESS : ERROR_NOT_FOUND;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	unsigned long long number;

	if (device != &gpu || sensor != 0 || read_number("nvml", &number) != SUCCESS)
		return ERROR_ARGUMENT;
	*celsius = (unsigned)number;
	return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count)
{
	/* uncorrected, since the driver was loaded */
	return device == &gpu && type == 1 && counter == 0 ? read_number("nvml_errors", count)
							   : ERROR_ARGUMENT;
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
