/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A whole configuration file: read or refused with a sentence. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config = { 0 };
	struct error err = { 0 };
	char path[64];
	int fd = memfd_create("config", 0);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (config_load(path, &config, &err) < 0 && !*err.text)
		abort();
	config_done(&config);
	(void)close(fd);
	return 0;
}
