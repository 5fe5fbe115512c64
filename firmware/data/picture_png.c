/* SPDX-License-Identifier: Apache-2.0 */
/* PNG by libspng. An interlaced file is decoded as a whole, because its lines come in several passes. */
#include "data/picture_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <spng.h>

/* Most bytes of the chunks that the library reads besides the pixels: texts and a colour profile, inflated. A
 * few KB of a file can ask for all of them, and each core has a decoder. */
#define CHUNKS_BYTES_MAX (UINT64_C(16) << 20)

struct reader {
	spng_ctx *png; /* NULL between two files */
	struct spng_ihdr header;
	uint64_t bytes;
	uint32_t next; /* line */
	bool wide;     /* 16 bits a sample: the lower half is left out, as libpng's png_set_strip_16() does */
	void *buffer;  /* an interlaced picture, or a wide line; NULL = none yet */
	uint64_t capacity;
};

static int fail(struct reader *reader, int code, struct error *err)
{
	spng_ctx_free(TAKE(reader->png));
	if (code == SPNG_ECHUNK_LIMITS)
		return error_set(err, -EBADMSG,
				 "PNG of %" PRIu64 " bytes: found more chunks besides its pixels, or larger "
				 "ones, than the library may keep: at most %" PRIu64 " bytes in all",
				 reader->bytes, CHUNKS_BYTES_MAX);
	return error_set(err, code == SPNG_EMEM ? -ENOMEM : -EBADMSG,
			 "PNG of %" PRIu64 " bytes, before line %" PRIu32 ": %s", reader->bytes, reader->next,
			 spng_strerror(code));
}

static int open_png(void **ret_reader, struct error *err)
{
	*ret_reader = calloc(1, sizeof(struct reader));
	return *ret_reader ? 0 : error_set(err, -ENOMEM, "no memory for a PNG decoder");
}

static void close_png(void *opened)
{
	struct reader *reader = opened;

	if (!reader)
		return;
	spng_ctx_free(reader->png);
	free(reader->buffer);
	free(reader);
}

static int begin_png(void *opened, const void *file, uint64_t bytes, struct picture_head *ret_head,
		     struct error *err)
{
	struct reader *reader = opened;
	struct spng_exif exif = { 0 };
	int code;

	spng_ctx_free(TAKE(reader->png));
	reader->bytes = bytes;
	reader->next = 0;
	reader->png = spng_ctx_new(0);
	if (!reader->png)
		return error_set(err, -ENOMEM, "no memory for a PNG decoder");
	if ((code = spng_set_image_limits(reader->png, INT32_MAX, INT32_MAX)) ||
	    (code = spng_set_chunk_limits(reader->png, CHUNKS_BYTES_MAX, CHUNKS_BYTES_MAX)) ||
	    (code = spng_set_png_buffer(reader->png, file, bytes)) ||
	    (code = spng_get_ihdr(reader->png, &reader->header)))
		return fail(reader, code, err);
	*ret_head =
		(struct picture_head){ .format = PICTURE_PNG,
				       .height = reader->header.height,
				       .width = reader->header.width,
				       .channels = reader->header.color_type == SPNG_COLOR_TYPE_GRAYSCALE ||
								   reader->header.color_type ==
									   SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
							   ? 1
							   : 3,
				       .orientation = 1 };
	reader->wide = reader->header.bit_depth == 16;
	code = spng_get_exif(reader->png, &exif);
	if (code && code != SPNG_ECHUNKAVAIL)
		return fail(reader, code, err);
	if (code == 0)
		ret_head->orientation = picture_exif_orientation((const uint8_t *)exif.data, exif.length);
	return 0;
}

static uint64_t line_bytes(const struct reader *reader)
{
	return (uint64_t)reader->header.width * PICTURE_RGBX * (reader->wide ? 2 : 1);
}

static uint64_t whole_png(const void *opened)
{
	const struct reader *reader = opened;

	return reader->header.interlace_method ? line_bytes(reader) * reader->header.height : 0;
}

static int start_png(void *opened, bool gray, uint32_t eighths, struct picture_lines *ret_lines,
		     struct error *err)
{
	struct reader *reader = opened;
	const bool interlaced = reader->header.interlace_method;
	uint64_t bytes;
	int code, format, r;

	(void)gray;
	(void)eighths;
	format = reader->wide ? SPNG_FMT_RGBA16 : SPNG_FMT_RGBA8;
	bytes = interlaced ? whole_png(reader) : line_bytes(reader);
	if ((interlaced || reader->wide) &&
	    (r = picture_grow(&reader->buffer, &reader->capacity, bytes, err)) < 0)
		return r;
	code = interlaced ? spng_decode_image(reader->png, reader->buffer, bytes, format, 0)
			  : spng_decode_image(reader->png, NULL, 0, format, SPNG_DECODE_PROGRESSIVE);
	if (code)
		return fail(reader, code, err);
	*ret_lines = (struct picture_lines){ reader->header.width, reader->header.height, PICTURE_RGBX };
	return 0;
}

/* Copies a line, and the upper half of each sample where they are wide. */
static void copy_line(const struct reader *reader, const void *from, uint8_t *line)
{
	const uint16_t *sample = from;

	if (!reader->wide)
		memcpy(line, from, line_bytes(reader));
	for (uint64_t i = 0; reader->wide && i < (uint64_t)reader->header.width * PICTURE_RGBX; i++)
		line[i] = (uint8_t)(sample[i] >> 8);
}

static int lines_png(void *opened, uint8_t *const line[static PICTURE_LINES_MAX], struct error *err)
{
	struct reader *reader = opened;
	int code = 0;

	if (reader->header.interlace_method)
		copy_line(reader, (const uint8_t *)reader->buffer + reader->next * line_bytes(reader),
			  line[0]);
	else
		code = spng_decode_row(reader->png, reader->wide ? reader->buffer : line[0],
				       line_bytes(reader));
	if (code && code != SPNG_EOI) /* SPNG_EOI: this was the last line */
		return fail(reader, code, err);
	if (reader->wide && !reader->header.interlace_method)
		copy_line(reader, reader->buffer, line[0]);
	reader->next++;
	return 1;
}

static int end_png(void *opened, bool *ret_warned, struct error *err)
{
	struct reader *reader = opened;

	(void)err;
	*ret_warned = false;
	spng_ctx_free(TAKE(reader->png));
	return 0;
}

const struct picture_reader picture_png = {
	.open = open_png,
	.close = close_png,
	.begin = begin_png,
	.whole = whole_png,
	.start = start_png,
	.lines = lines_png,
	.end = end_png,
};
