/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_source.h"

#include <inttypes.h>
#include <string.h>

/* ---- Which format ---- */

static bool has(const uint8_t *file, uint64_t bytes, uint64_t at, const char *magic, uint64_t count)
{
	return bytes >= at + count && memcmp(file + at, magic, count) == 0;
}

enum picture_format picture_format_of(const void *file, uint64_t bytes)
{
	if (has(file, bytes, 0, "\xff\xd8\xff", 3))
		return PICTURE_JPEG;
	return has(file, bytes, 0, "\x89PNG\r\n\x1a\n", 8) ? PICTURE_PNG : PICTURE_UNKNOWN;
}

static const char *known_format(const uint8_t *file, uint64_t bytes)
{
	static const struct {
		const char *name, *magic;
		uint8_t at, count;
	} known[] = {
		{ "a GIF file", "GIF8", 0, 4 },
		{ "a WebP file", "WEBP", 8, 4 },
		{ "a BMP file", "BM", 0, 2 },
		{ "a TIFF file", "II*\0", 0, 4 },
		{ "a TIFF file", "MM\0*", 0, 4 },
		{ "an AVIF file", "ftypavif", 4, 8 },
		{ "a HEIC file", "ftyphei", 4, 7 },
		{ "a HEIC file", "ftyphev", 4, 7 },
		{ "a HEIC file", "ftypmif1", 4, 8 },
		{ "a HEIC file", "ftypmsf1", 4, 8 },
		{ "a JPEG 2000 file", "\0\0\0\x0cjP  ", 0, 8 },
		{ "a JPEG XL file", "\0\0\0\x0cJXL ", 0, 8 },
		{ "a JPEG XL file", "\xff\x0a", 0, 2 },
		{ "a PDF file", "%PDF", 0, 4 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (has(file, bytes, known[i].at, known[i].magic, known[i].count))
			return known[i].name;
	return NULL;
}

int picture_refuse(const void *file, uint64_t bytes, struct error *err)
{
	const uint8_t *at = file;
	const char *name = known_format(at, bytes);

	if (bytes < 4)
		return error_set(err, -EBADMSG, "found %" PRIu64 " bytes, expected a JPEG or PNG file",
				 bytes);
	if (name)
		return error_set(err, -EBADMSG, "found %s, expected a JPEG or PNG file", name);
	return error_set(
		err, -EBADMSG,
		"found a file that begins with the bytes %02x %02x %02x %02x, expected a JPEG or PNG "
		"file",
		at[0], at[1], at[2], at[3]);
}

/* ---- The head ---- */

int picture_head(const void *file, uint64_t bytes, struct picture_head *ret_head, struct error *err)
{
	const enum picture_format format = picture_format_of(file, bytes);
	const struct picture_reader *type = format == PICTURE_PNG ? &picture_png : &picture_jpeg;
	struct picture_head head;
	void *reader = NULL;
	int r;

	if (format == PICTURE_UNKNOWN)
		return picture_refuse(file, bytes, err);
	r = type->open(&reader, err);
	if (r == 0)
		r = type->begin(reader, file, bytes, &head, err);
	type->close(reader);
	if (r == 0)
		*ret_head = head;
	return r;
}
