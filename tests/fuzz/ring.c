/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring/ring_shared.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is the start of a ring's file, its header and first slot; the file has the length of a real ring.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cursor wanted = { .version = CURSOR_VERSION };
	const struct ring_slot *slot;
	struct error err = { 0 };
	struct ring *ring;
	char path[64];
	int fd = memfd_create("ring", 0);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || ftruncate(fd, 2 << 20) < 0 || pwrite(fd, data, size < 1 << 20 ? size : 1 << 20, 0) < 0)
		abort();
	if (ring_open(path, &ring, &err) == 0) {
		ring_attach(ring, &wanted);
		for (int i = 0; i < 8 && ring_next(ring, &slot, &err) == 0; i++) {
			for (uint32_t c = 0; c < ring_geometry_of(ring)->columns; c++)
				(void)memchr(ring_column_data(ring, slot, c), 1, slot->column[c].bytes);
			ring_release(ring, slot);
		}
		ring_close(ring);
	} else if (!*err.text) {
		abort();
	}
	(void)close(fd);
	return 0;
}
