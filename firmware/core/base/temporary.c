/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int temporary_file(const char *name, char ret_path[static PATH_BYTES], struct error *err)
{
	const char *folder = getenv("TMPDIR");
	CLEANUP(close_fd) int fd = -1;

	(void)snprintf(ret_path, PATH_BYTES, "%s/kiln-%s-XXXXXX", folder && *folder ? folder : "/tmp", name);
	fd = mkstemp(ret_path);
	return fd < 0 ? error_set(err, -errno, "%s: cannot make it: %s", ret_path, strerror(errno)) : 0;
}
