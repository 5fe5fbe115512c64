/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/sensors/sensors.h"

#include <glob.h>
#include <math.h>
#include <string.h>

/* degrees; limits above this are ignored: chips without a limit report values such as 127.999 or 16711 */
#define LIMIT_MAX 150.0

bool sensors_line(const char *path, char *out, size_t size)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");

	if (!file || !fgets(out, (int)size, file))
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* Reads a value of a sensor in degrees; NAN: the sensor has no such value. `input` is the path of the file
 * temp1_input; `what` is the end of the file's name, for instance "max" for temp1_max. The files have
 * millidegrees. */
static double value_of(const char *input, const char *what)
{
	char path[512], text[32], *end;
	double value;

	(void)snprintf(path, sizeof(path), "%.*s%s", (int)(strlen(input) - strlen("input")), input, what);
	if (!sensors_line(path, text, sizeof(text)))
		return NAN;
	value = strtod(text, &end);
	return end == text || *end ? NAN : value / 1000;
}

static double limit_of(const char *input, const char *what)
{
	double limit = value_of(input, what);

	return limit > 0 && limit < LIMIT_MAX ? limit : NAN;
}

static enum sensors_component component_of(const char *chip)
{
	static const struct {
		const char *chip;
		enum sensors_component component;
	} chips[] = {
		{ "coretemp", SENSORS_CPU },    { "k10temp", SENSORS_CPU }, { "zenpower", SENSORS_CPU },
		{ "k8temp", SENSORS_CPU },      { "amdgpu", SENSORS_GPU },  { "radeon", SENSORS_GPU },
		{ "i915", SENSORS_GPU },        { "nouveau", SENSORS_GPU }, { "xe", SENSORS_GPU },
		{ "cpu_thermal", SENSORS_CPU },
	};

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (strcmp(chip, chips[i].chip) == 0)
			return chips[i].component;
	return SENSORS_OTHER;
}

static void identify(const char *input, struct sensors_reading *ret_reading)
{
	char path[512], chip[40] = "sensor", label[48] = "";
	size_t folder = (size_t)(strrchr(input, '/') - input);
	size_t stem = strlen(input) - strlen("input");

	(void)snprintf(path, sizeof(path), "%.*s/name", (int)folder, input);
	(void)sensors_line(path, chip, sizeof(chip));
	(void)snprintf(path, sizeof(path), "%.*slabel", (int)stem, input);
	if (!sensors_line(path, label, sizeof(label)))
		(void)snprintf(label, sizeof(label), "%.*s", (int)(stem - folder - 2), input + folder + 1);
	(void)snprintf(ret_reading->name, sizeof(ret_reading->name), "%s %s", chip, label);
	ret_reading->component = component_of(chip);
}

/* Returns whether the sensor belongs to the driver k10temp and has the true temperature. Where the chip has
 * both Tctl and Tdie, Tctl does not: it is up to 27 degrees too high. */
static bool is_zen(const char *input, const char *name)
{
	char path[512], label[16] = "";

	if (strncmp(name, "k10temp ", strlen("k10temp ")) != 0)
		return false;
	(void)snprintf(path, sizeof(path), "%.*stemp2_label", (int)(strrchr(input, '/') + 1 - input), input);
	return strcmp(name, "k10temp Tctl") != 0 || !sensors_line(path, label, sizeof(label)) ||
	       strcmp(label, "Tdie") != 0;
}

void sensors_temperatures(const char *folder, sensors_each *each, void *context)
{
	glob_t found = { 0 };
	char pattern[512];

	(void)snprintf(pattern, sizeof(pattern), "%s/hwmon*/temp*_input", folder);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *input = found.gl_pathv[i];
			struct sensors_reading reading = { .celsius = value_of(input, "input") };

			if (isnan(reading.celsius))
				continue;
			reading.max_celsius = limit_of(input, "max");
			reading.critical_celsius = limit_of(input, "crit");
			identify(input, &reading);
			if (isnan(reading.critical_celsius) && is_zen(input, reading.name))
				reading.critical_celsius = SENSORS_K10TEMP_CRITICAL;
			each(context, &reading);
		}
	globfree(&found);
}
