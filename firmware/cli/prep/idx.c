/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/idx.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#define DIMENSIONS_MAX 4u
#define UNSIGNED_BYTES 0x08
#define SIDE_MAX       65536u
#define IMAGES_MAX     (1u << 28)

struct header {
	uint32_t dimensions, size[DIMENSIONS_MAX];
};

static void close_gz(gzFile *file)
{
	if (*file)
		(void)gzclose(*file);
}

bool idx_is(const char *path)
{
	CLEANUP(close_gz) gzFile file = gzopen(path, "r");
	uint8_t magic[4];

	return file && gzread(file, magic, sizeof(magic)) == (int)sizeof(magic) && magic[0] == 0 &&
	       magic[1] == 0 && magic[2] >= UNSIGNED_BYTES && magic[2] <= 0x0e && magic[3] > 0 &&
	       magic[3] < 16;
}

/* Replaces `from` by `to` in the file's name, but not in the names of the folders. `from` and `to` have the
 * same length. */
static bool turn(char *name, const char *from, const char *to)
{
	char *slash = strrchr(name, '/'), *found = strstr(slash ? slash : name, from);

	if (found)
		memcpy(found, to, strlen(to));
	return found;
}

bool idx_labels_name(const char *images, char *ret_labels, size_t size)
{
	if (strlen(images) >= size)
		return false;
	(void)snprintf(ret_labels, size, "%s", images);
	return turn(ret_labels, "images", "labels") &&
	       (turn(ret_labels, "idx3", "idx1") || turn(ret_labels, "idx4", "idx1"));
}

/* ---- One file ---- */

static int read_exactly(gzFile file, const char *name, void *data, uint64_t bytes, struct error *err)
{
	uint8_t *at = data;
	int z;

	for (uint64_t left = bytes; left;) {
		unsigned wanted = left > (1u << 30) ? 1u << 30 : (unsigned)left;
		int got = gzread(file, at, wanted);

		if (got < 0)
			return error_set(err, -EBADMSG, "%s: damaged: %s", name, gzerror(file, &z));
		if (got == 0)
			return error_set(err, -EBADMSG,
					 "%s: ends at byte %jd, %" PRIu64 " more were expected", name,
					 (intmax_t)gztell(file), left);
		at += got;
		left -= (uint64_t)got;
	}
	return 0;
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int read_header(gzFile file, const char *name, struct header *ret_header, struct error *err)
{
	uint8_t magic[4], size[4];
	int r = read_exactly(file, name, magic, sizeof(magic), err);

	if (r < 0)
		return r;
	if (magic[0] || magic[1] || magic[2] != UNSIGNED_BYTES || magic[3] == 0 || magic[3] > DIMENSIONS_MAX)
		return error_set(
			err, -EBADMSG,
			"%s: found %02x%02x%02x%02x at its start, expected 00000801, 00000803 or 00000804",
			name, magic[0], magic[1], magic[2], magic[3]);
	*ret_header = (struct header){ .dimensions = magic[3] };
	for (uint32_t i = 0; r == 0 && i < ret_header->dimensions; i++) {
		r = read_exactly(file, name, size, sizeof(size), err);
		ret_header->size[i] = big_endian(size);
	}
	return r;
}

/* Reads as many bytes as the header states, then the end of the file, where gzread() compares the checksum of
 * gzip. */
static int read_values(gzFile file, const char *name, uint8_t *data, uint64_t bytes, struct error *err)
{
	uint8_t more;
	int r = read_exactly(file, name, data, bytes, err), z;

	if (r < 0)
		return r;
	switch (gzread(file, &more, 1)) {
	case 0:
		return 0;
	case 1:
		return error_set(err, -EBADMSG, "%s: longer than the %" PRIu64 " values its header announces",
				 name, bytes);
	default:
		return error_set(err, -EBADMSG, "%s: damaged: %s", name, gzerror(file, &z));
	}
}

static int open_file(const char *path, const char *name, gzFile *ret_file, struct header *ret_header,
		     struct error *err)
{
	*ret_file = gzopen(path, "r");
	if (!*ret_file)
		return error_set(err, -errno, "%s: cannot read it: %s", name, strerror(errno));
	return read_header(*ret_file, name, ret_header, err);
}

/* ---- Images ---- */

static int check_images(const struct idx_images *images, const struct header *header, const char *name,
			struct error *err)
{
	const uint32_t channels = header->dimensions == 4 ? header->size[3] : 1;

	if (header->dimensions < 3)
		return error_set(err, -EBADMSG, "%s: found %u dimensions, expected 3 or 4 for images", name,
				 header->dimensions);
	for (uint32_t i = 1; i < header->dimensions; i++)
		if (header->size[i] == 0 || header->size[i] > SIDE_MAX)
			return error_set(err, -EBADMSG, "%s: found a dimension of %u, expected 1 .. %u", name,
					 header->size[i], SIDE_MAX);
	if (header->size[0] == 0 || header->size[0] > IMAGES_MAX - images->images)
		return error_set(err, -EBADMSG, "%s: found %u images, expected 1 .. %u", name,
				 header->size[0], IMAGES_MAX - images->images);
	if (images->images && (header->size[1] != images->height || header->size[2] != images->width ||
			       channels != images->channels))
		return error_set(err, -EBADMSG,
				 "%s: found images of %u x %u x %u, earlier images are %u x %u x %u", name,
				 header->size[1], header->size[2], channels, images->height, images->width,
				 images->channels);
	return 0;
}

static int make_space(struct idx_images *images, uint32_t more, struct error *err)
{
	const uint64_t rows = (uint64_t)images->images + more,
		       bytes = (uint64_t)images->height * images->width * images->channels;
	uint8_t *pixel = bytes < SIZE_MAX / rows ? realloc(images->pixel, rows * bytes + 1) : NULL, *label;

	if (pixel)
		images->pixel = pixel;
	label = realloc(images->label, rows);
	if (label)
		images->label = label;
	return pixel && label
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for %" PRIu64 " images of %" PRIu64 " bytes",
				   rows, bytes);
}

static int read_images(struct idx_images *images, const char *path, const char *name, uint32_t *ret_more,
		       struct error *err)
{
	CLEANUP(close_gz) gzFile file = NULL;
	struct header header;
	uint64_t bytes;
	int r = open_file(path, name, &file, &header, err);

	if (r < 0 || (r = check_images(images, &header, name, err)) < 0)
		return r;
	images->height = header.size[1];
	images->width = header.size[2];
	images->channels = header.dimensions == 4 ? header.size[3] : 1;
	bytes = (uint64_t)images->height * images->width * images->channels;
	r = make_space(images, header.size[0], err);
	*ret_more = header.size[0];
	return r < 0 ? r
		     : read_values(file, name, images->pixel + images->images * bytes, header.size[0] * bytes,
				   err);
}

static int read_labels(struct idx_images *images, const char *path, const char *name, uint32_t more,
		       struct error *err)
{
	CLEANUP(close_gz) gzFile file = NULL;
	uint8_t *label = images->label + images->images;
	struct header header;
	int r = open_file(path, name, &file, &header, err);

	if (r < 0)
		return r;
	if (header.dimensions != 1 || header.size[0] != more)
		return error_set(err, -EBADMSG, "%s: found %u dimensions and %u labels, expected 1 and %u",
				 name, header.dimensions, header.size[0], more);
	r = read_values(file, name, label, more, err);
	for (uint32_t i = 0; r == 0 && i < more; i++)
		if (label[i] >= images->labels)
			images->labels = label[i] + 1u;
	return r;
}

int idx_read(struct idx_images *images, const char *path, const char *name, const char *labels_path,
	     const char *labels_name, struct error *err)
{
	uint32_t more;
	int r = read_images(images, path, name, &more, err);

	if (r == 0)
		r = read_labels(images, labels_path, labels_name, more, err);
	if (r == 0)
		images->images += more;
	return r;
}

void idx_done(struct idx_images *images)
{
	free(images->pixel);
	free(images->label);
	*images = (struct idx_images){ 0 };
}
