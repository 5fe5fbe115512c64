/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/file.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

bool file_segment_is_safe(const char *segment, size_t bytes)
{
	if (!bytes || bytes > NAME_MAX)
		return false;
	if (!strncmp(segment, "..", bytes) && bytes <= 2)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)segment[i] < 0x20 || segment[i] == 0x7f)
			return false;
	return bytes < sizeof(FILE_TEMPORARY_PREFIX) - 1 ||
	       memcmp(segment, FILE_TEMPORARY_PREFIX, sizeof(FILE_TEMPORARY_PREFIX) - 1) != 0;
}

int file_key_path(const struct file_store *file, const char *key, char path[static FILE_PATH_BYTES],
		  struct error *err)
{
	char text[STORE_KEY_TEXT];
	const char *segment = key;

	for (;;) {
		size_t bytes = strcspn(segment, "/");

		if (!file_segment_is_safe(segment, bytes) || (size_t)(segment - key) + bytes > STORE_KEY_MAX)
			return error_set(err, -EINVAL, "%s: the key '%s' cannot be a file's name",
					 file->store.url, store_key_text(key, text));
		if (!segment[bytes])
			break;
		segment += bytes + 1;
	}
	(void)snprintf(path, FILE_PATH_BYTES, "%s/%s", file->root, key);
	return 0;
}

void file_pin_of(const struct stat *st, struct store_pin *pin)
{
	*pin = (struct store_pin){ .bytes = (uint64_t)st->st_size };
	(void)snprintf(pin->etag, sizeof(pin->etag), "%" PRId64 "-%" PRIu64,
		       (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec, (uint64_t)st->st_ino);
}
