/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/sensors/sensors.h"

#include <glob.h>
#include <string.h>

bool sensors_line(const char *path, char *out, size_t size)
{
	CLEANUP(close_file) FILE *file = fopen(path, "re");

	if (!file || !fgets(out, (int)size, file))
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static void name_of(const char *input, char out[static SENSORS_NAME_BYTES])
{
	char path[512], chip[40] = "sensor", label[48] = "";
	size_t folder = (size_t)(strrchr(input, '/') - input);
	size_t stem = strlen(input) - strlen("input");

	(void)snprintf(path, sizeof(path), "%.*s/name", (int)folder, input);
	(void)sensors_line(path, chip, sizeof(chip));
	(void)snprintf(path, sizeof(path), "%.*slabel", (int)stem, input);
	if (!sensors_line(path, label, sizeof(label)))
		(void)snprintf(label, sizeof(label), "%.*s", (int)(stem - folder - 2), input + folder + 1);
	(void)snprintf(out, SENSORS_NAME_BYTES, "%s %s", chip, label);
}

void sensors_temperatures(const char *root, void (*each)(void *context, const char *name, double celsius),
			  void *context)
{
	char pattern[512], name[SENSORS_NAME_BYTES], text[32], *end;
	glob_t found = { 0 };

	(void)snprintf(pattern, sizeof(pattern), "%s/sys/class/hwmon/hwmon*/temp*_input", root);
	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			double value;

			if (!sensors_line(found.gl_pathv[i], text, sizeof(text)))
				continue;
			value = strtod(text, &end);
			if (end == text || *end)
				continue;
			name_of(found.gl_pathv[i], name);
			each(context, name, value / 1000);
		}
	globfree(&found);
}
