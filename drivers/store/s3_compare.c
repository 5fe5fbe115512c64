/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/s3_compare.h"

#include <inttypes.h>
#include <unistd.h>

#define RANGE_BYTES (4u << 20)

/* Reads the range of the object and of the file into `theirs` and `ours`, and compares. */
static int compare_range(struct s3_store *s3, const char *key, const struct store_pin *pin, uint64_t offset,
			 size_t bytes, int fd, char *theirs, char *ours, struct error *err)
{
	int r = store_get(&s3->store, key, pin, offset, theirs, bytes, err);

	if (r < 0)
		return r;
	if (pread(fd, ours, bytes, (off_t)offset) != (ssize_t)bytes)
		return error_set(err, -EIO, "%s: the file cannot be read again", key);
	for (size_t i = 0; i < bytes; i++)
		if (theirs[i] != ours[i])
			return error_set(
				err, -EIO,
				"%s/%s: the server has other bytes than were sent, at offset %" PRIu64,
				s3->store.url, key, offset + i);
	return 0;
}

int s3_compare(struct s3_store *s3, const char *key, const struct store_pin *pin, int fd, struct error *err)
{
	CLEANUP(free_ptr) char *both = malloc(2 * (size_t)RANGE_BYTES);
	int r = both ? 0 : error_set(err, -ENOMEM, "no memory to compare an object");

	for (uint64_t offset = 0; r == 0 && offset < pin->bytes; offset += RANGE_BYTES) {
		const uint64_t left = pin->bytes - offset;

		r = compare_range(s3, key, pin, offset, left < RANGE_BYTES ? left : RANGE_BYTES, fd, both,
				  both + RANGE_BYTES, err);
	}
	return r;
}
