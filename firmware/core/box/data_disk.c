/* SPDX-License-Identifier: Apache-2.0 */
#include "core/box/data_disk.h"

#include "core/base/paths.h"

#include <unistd.h>

int data_disk_check(struct error *err)
{
	char path[PATH_BYTES];

	if (access(path_of(PATH_RUNTIME, "no-data", path), F_OK) == 0)
		return error_set(
			err, -ENODEV,
			"no /data: its partition cannot be mounted; to make a new one, put an empty file "
			"factory-reset beside kiln.conf on the ESP");
	if (access(path_of(PATH_RUNTIME, "reset", path), F_OK) == 0)
		return error_set(err, -EBUSY,
				 "factory-reset cannot be removed from the ESP: each boot erases all data");
	return 0;
}
