/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/floor.h"

#include "core/base/paths.h"
#include "core/box/image.h"

#include <string.h>

#define FILE_NAME "floor"

/* Returns whether `version` is newer than `other`; "" and what is no version are older than all versions. */
static bool is_newer(const char *version, const char *other)
{
	int order;

	return semver_compare(version, *other ? other : version, &order, NULL) == 0 && (!*other || order > 0);
}

/* Reads the file. Leaves "" in `out` where the file is missing or holds no version. */
static void read_file(char out[static SEMVER_BYTES])
{
	CLEANUP(close_file) FILE *file = NULL;
	char path[PATH_BYTES];

	*out = '\0';
	file = fopen(path_of(PATH_ESP_SLOTS, FILE_NAME, path), "re");
	if (file && fgets(out, SEMVER_BYTES, file))
		out[strcspn(out, "\n")] = '\0';
	if (!is_newer(out, ""))
		*out = '\0';
}

char *floor_get(char out[static SEMVER_BYTES])
{
	char running[IMAGE_VALUE_BYTES];

	read_file(out);
	if (is_newer(image_version(running), out))
		(void)snprintf(out, SEMVER_BYTES, "%.*s", (int)SEMVER_BYTES - 1, running);
	return out;
}

int floor_raise(struct error *err)
{
	char path[PATH_BYTES], running[IMAGE_VALUE_BYTES], found[SEMVER_BYTES], line[IMAGE_VALUE_BYTES + 1];

	read_file(found);
	if (!is_newer(image_version(running), found))
		return 0;
	(void)snprintf(line, sizeof(line), "%s\n", running);
	return file_write_durable(path_of(PATH_ESP_SLOTS, FILE_NAME, path), line, strlen(line), err);
}

int floor_check(const char *version, struct error *err)
{
	char floor[SEMVER_BYTES];
	int order, r;

	if (!*floor_get(floor))
		return 0;
	if ((r = semver_compare(version, floor, &order, err)) < 0)
		return r;
	if (order >= 0)
		return 0;
	return error_set(err, -EPERM,
			 "version %s is older than %s, which was found good on this box; --allow-downgrade "
			 "installs it all the same",
			 version, floor);
}

bool floor_is_open(void)
{
	char path[PATH_BYTES];

	return access(path_of(PATH_DOWNGRADE, NULL, path), F_OK) == 0;
}

int floor_allow(bool open, struct error *err)
{
	char path[PATH_BYTES];

	(void)path_of(PATH_DOWNGRADE, NULL, path);
	return open ? file_write_durable(path, "", 0, err) : file_remove_durable(path, err);
}
