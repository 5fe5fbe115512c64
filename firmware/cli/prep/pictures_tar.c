/* SPDX-License-Identifier: Apache-2.0 */
/* Finds pictures in a tar archive, and copies them. */
#include "cli/prep/pictures_list.h"
#include "cli/prep/tar.h"

#include <inttypes.h>
#include <string.h>

/* ---- What an archive has ---- */

/* Ends the reading at the first member that tells: a review, or a picture. */
static int look(void *context, struct archive *archive, struct archive_entry *entry, struct error *err)
{
	const char *path = archive_entry_pathname(entry);
	bool *pictures = context;

	(void)archive;
	(void)err;
	*pictures = pictures_is_name(path);
	return *pictures || strstr(path, "aclImdb/");
}

int pictures_in_tar(const char *path, const char *name, struct error *err)
{
	bool pictures = false;
	int r = tar_read(path, name, look, &pictures, err);

	return r < 0 ? r : r > 0 && pictures;
}

/* ---- Its members ---- */

struct reading {
	struct pictures_list list;
	uint8_t *data; /* bytes of a member of the archive */
	uint64_t capacity;
};

static int read_data(struct reading *reading, struct archive *archive, uint64_t bytes, struct error *err)
{
	if (bytes > reading->capacity) {
		free(reading->data);
		reading->capacity = 0;
		reading->data = malloc(bytes);
		if (!reading->data)
			return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes", bytes);
		reading->capacity = bytes;
	}
	return archive_read_data(archive, reading->data, bytes) == (la_ssize_t)bytes
		       ? 0
		       : error_set(err, -EBADMSG, "cut or damaged: %s", archive_error_string(archive));
}

static int take_member(void *context, struct archive *archive, struct archive_entry *entry, struct error *err)
{
	struct reading *reading = context;
	const int64_t bytes = archive_entry_size(entry);
	struct picture_item *item;
	int r;

	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
		return 0;
	r = pictures_list_add(&reading->list, archive_entry_pathname(entry), &item, err);
	if (r <= 0)
		return r;
	if (bytes < 0 || (uint64_t)bytes > PICTURES_FILE_MAX)
		return error_set(err, -EBADMSG, "%" PRId64 " bytes, at most %" PRIu64, bytes,
				 PICTURES_FILE_MAX);
	r = read_data(reading, archive, (uint64_t)bytes, err);
	return r < 0 ? r : pictures_keep(reading->list.pictures, item, reading->data, (uint64_t)bytes, err);
}

int pictures_find_tar(struct pictures *pictures, struct texts *texts, const char *path, const char *name,
		      enum texts_split split, struct error *err)
{
	struct reading reading = {
		.list = { pictures, texts, name, split, PICTURE_POOL, pictures->items, { 0 } }
	};
	int r = pictures_open_pool(pictures, err);

	if (r == 0)
		r = tar_read(path, name, take_member, &reading, err);
	free(reading.data);
	return r < 0 ? r : pictures_list_end(&reading.list, err);
}
