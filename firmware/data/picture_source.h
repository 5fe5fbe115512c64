/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture file that is read line by line, from top to bottom: picture_jpeg.c and picture_png.c have a
 * reader each. For data/picture*.c only.
 *
 * Order: open, then (begin -> start -> lines* -> end)* for one file after the other, then close. After an
 * error the next call is begin() or close(). A reader belongs to one thread.
 */
#pragma once

#include "data/picture.h"

/* Bytes behind a line that may be read, so that the filter can load whole vectors. */
#define PICTURE_LINE_SPARE 64u
#define PICTURE_LINES_MAX  16u /* lines of one call */

/* What the lines are: pixels of one gray byte, or of four bytes, R, G, B and any. */
enum picture_pixel { PICTURE_GRAY = 1, PICTURE_RGBX = 4 };

struct picture_lines {
	uint32_t width, height;
	enum picture_pixel pixel;
};

struct picture_reader {
	int (*open)(void **ret_reader, struct error *err);
	void (*close)(void *reader); /* accepts NULL */
	/* Reads the head; the file stays the caller's until end(). */
	int (*begin)(void *reader, const void *file, uint64_t bytes, struct picture_head *ret_head,
		     struct error *err);
	/* Returns the bytes that start() takes for the picture as a whole; 0 = it comes line by line. */
	uint64_t (*whole)(const void *reader);
	/* Says which lines will come. `gray`: gray lines where the library makes them. `eighths`: 8, or 1, 2,
	 * 4 where the library shrinks; a reader that cannot shrink ignores it. */
	int (*start)(void *reader, bool gray, uint32_t eighths, struct picture_lines *ret_lines,
		     struct error *err);
	/* Reads 1 to PICTURE_LINES_MAX lines into line[0], line[1] ..., each of width * pixel bytes. Returns
	 * their number. */
	int (*lines)(void *reader, uint8_t *const line[static PICTURE_LINES_MAX], struct error *err);
	/* After the last line. *ret_warned: the library has warned of something. */
	int (*end)(void *reader, bool *ret_warned, struct error *err);
};

extern const struct picture_reader picture_jpeg, picture_png;

/* Returns the orientation, 1 .. 8, that a TIFF structure of EXIF holds; 1 where it holds none or is
 * malformed. */
uint32_t picture_exif_orientation(const uint8_t *exif, uint64_t bytes);

/* Returns the format by the first bytes of a file. */
enum picture_format picture_format_of(const void *file, uint64_t bytes);
/* The error for a file that is neither JPEG nor PNG: names the format where it is a known one. */
int picture_refuse(const void *file, uint64_t bytes, struct error *err);

/* Makes a buffer at least this large; its content is lost, and new memory is zeroed. Errors: -ENOMEM. */
MUST_CHECK int picture_grow(void **buffer, uint64_t *capacity, uint64_t bytes, struct error *err);
