/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config_held.h"

#include "core/base/paths.h"

#include <string.h>
#include <sys/mman.h>

int config_hold(const char *text, char path[static CONFIG_HELD_BYTES], struct error *err)
{
	CLEANUP(close_fd) int fd = memfd_create("kiln.conf", MFD_CLOEXEC);
	const int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	if (r < 0)
		return error_set(err, r, "no memory for a configuration: %s", strerror(-r));
	(void)snprintf(path, CONFIG_HELD_BYTES, CONFIG_HELD "%d", fd);
	return take_fd(&fd);
}
