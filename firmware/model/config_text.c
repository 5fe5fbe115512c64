/* SPDX-License-Identifier: Apache-2.0 */
#include "model/config_text.h"

#include "core/base/paths.h"

#include <string.h>
#include <sys/mman.h>

/* The text goes through a file in memory, because config_load() only reads files. */
int config_text_load(const char *text, struct config *ret_config, struct error *err)
{
	const size_t bytes = strlen(text);
	CLEANUP(close_fd) int fd = memfd_create("kiln.conf", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, text, bytes) != (ssize_t)bytes)
		return error_set(err, -errno, "no memory for a configuration");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return config_load(path, ret_config, err);
}
