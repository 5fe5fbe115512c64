/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bytes of pictures, and keeps copies of those that lie in archives and stores. */
#include "cli/prep/pictures_list.h"

#include "core/base/paths.h"
#include "core/base/temporary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

int pictures_open_pool(struct pictures *pictures, struct error *err)
{
	char path[PATH_BYTES];
	int r;

	if (pictures->pool)
		return 0;
	if ((r = temporary_file("pictures", path, err)) < 0)
		return r;
	pictures->pool = open(path, O_RDWR | O_CLOEXEC);
	r = pictures->pool < 0 ? error_set(err, -errno, "%s: %s", path, strerror(errno)) : 0;
	(void)unlink(path);
	return r;
}

int pictures_keep(struct pictures *pictures, struct picture_item *item, const void *data, uint64_t bytes,
		  struct error *err)
{
	const uint64_t offset = __atomic_fetch_add(&pictures->pool_bytes, bytes, __ATOMIC_RELAXED);
	uint64_t done = 0;

	while (done < bytes) {
		const ssize_t n = pwrite(pictures->pool, (const uint8_t *)data + done, bytes - done,
					 (off_t)(offset + done));

		if (n < 0 && errno != EINTR)
			return error_set(err, -errno,
					 "the folder of temporary files (TMPDIR): cannot keep a copy of the "
					 "pictures: %s",
					 strerror(errno));
		done += n > 0 ? (uint64_t)n : 0;
	}
	item->offset = offset;
	item->bytes = bytes;
	item->from = PICTURE_POOL;
	return 0;
}

static int read_pool(const struct pictures *pictures, const struct picture_item *item, uint8_t **ret_data,
		     struct error *err)
{
	CLEANUP(free_ptr) uint8_t *data = malloc(item->bytes + 1);
	uint64_t done = 0;

	if (!data)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes", item->bytes);
	while (done < item->bytes) {
		const ssize_t n =
			pread(pictures->pool, data + done, item->bytes - done, (off_t)(item->offset + done));

		if (n == 0 || (n < 0 && errno != EINTR))
			return error_set(err, n ? -errno : -EIO, "cannot read its copy: %s",
					 n ? strerror(errno) : "it has ended");
		done += n > 0 ? (uint64_t)n : 0;
	}
	*ret_data = TAKE(data);
	return 0;
}

int pictures_load(const struct pictures *pictures, const struct picture_item *item, uint8_t **ret_data,
		  struct error *err)
{
	CLEANUP(free_ptr) char *data = NULL;
	char sha256[DIGEST_HEX_BYTES];
	uint64_t bytes = 0;
	int r;

	if (item->from == PICTURE_POOL)
		return read_pool(pictures, item, ret_data, err);
	r = file_read(item->path, PICTURES_FILE_MAX, &data, &bytes, err);
	if (r < 0)
		return r;
	digest_sha256(data, bytes, sha256);
	if (strcmp(sha256, item->sha256) != 0)
		return error_set(err, -EBADMSG, "%s: it has changed while kiln prep read the pictures",
				 item->path);
	*ret_data = (uint8_t *)TAKE(data);
	return 0;
}

void pictures_done(struct pictures *pictures)
{
	for (uint32_t i = 0; i < pictures->items; i++) {
		free(pictures->item[i].path);
		free(pictures->item[i].wrong);
	}
	free(pictures->item);
	while (pictures->stores)
		stores_done(&pictures->store[--pictures->stores]);
	if (pictures->pool)
		close_fd(&pictures->pool);
}
