/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/image.h"

#include "core/base/machine.h"
#include "core/base/paths.h"

#include <string.h>

#define LINE_BYTES 4096u /* longest command line that a Linux kernel accepts */

/* Finds a word that begins with `key` ("KEY=") in a file and copies the rest of the word; "" where there is
 * none. Returns out. */
static char *value_of(enum path which, const char *key, char out[static IMAGE_VALUE_BYTES])
{
	char path[PATH_BYTES], line[LINE_BYTES], *rest;
	CLEANUP(close_file) FILE *file = fopen(path_of(which, NULL, path), "re");

	*out = '\0';
	while (file && !*out && fgets(line, sizeof(line), file))
		for (char *word = strtok_r(line, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
			if (strncmp(word, key, strlen(key)) == 0)
				(void)snprintf(out, IMAGE_VALUE_BYTES, "%s", word + strlen(key));
	return out;
}

char *image_version(char out[static IMAGE_VALUE_BYTES])
{
	return value_of(PATH_OS_RELEASE, "IMAGE_VERSION=", out);
}

static bool add(cJSON *object, const char *key, const char *text)
{
	return cJSON_AddItemToObject(object, key, *text ? json_string(text) : cJSON_CreateNull());
}

bool image_is_running(void)
{
	char slot[IMAGE_VALUE_BYTES];

	return *value_of(PATH_CMDLINE, "rauc.slot=", slot) != '\0';
}

bool image_add(cJSON *object)
{
	char machine[MACHINE_ID_BYTES], value[IMAGE_VALUE_BYTES];

	return add(object, "machine", machine_id(machine)) &&
	       add(object, "slot", value_of(PATH_CMDLINE, "rauc.slot=", value)) &&
	       add(object, "build", value_of(PATH_OS_RELEASE, "BUILD_ID=", value));
}
