/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG by libjpeg-turbo. Errors of the library arrive by longjmp(): each function that calls the library sets
 * its own place to return to, and keeps no value of its own across the call.
 */
#include "data/picture_source.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#define EXIF_MARKER       (JPEG_APP0 + 1)
#define EXIF_BYTES        0xffffu
#define EXIF_BEGIN        "Exif\0"
#define EXIF_HEADER_BYTES 6u

struct reader {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	jmp_buf place;
	uint64_t bytes;
	bool head_read, warned;
	int missing; /* code of the library's message about pixels that never came; 0 = none */
	uint64_t missing_at;
	char text[JMSG_LENGTH_MAX];
	char missing_text[JMSG_LENGTH_MAX];
};

static struct reader *reader_of(j_common_ptr jpeg)
{
	return jpeg->client_data;
}

/* Returns how many bytes of the file the library has taken. Past its end the library reads a marker of its
 * own. */
static uint64_t taken(const struct reader *reader)
{
	const uint64_t left = reader->jpeg.src ? reader->jpeg.src->bytes_in_buffer : 0;

	return left <= reader->bytes ? reader->bytes - left : reader->bytes;
}

/* ---- What the library calls ---- */

static void on_error(j_common_ptr jpeg)
{
	struct reader *reader = reader_of(jpeg);

	jpeg->err->format_message(jpeg, reader->text);
	longjmp(reader->place, 1);
}

/* In a file of one scan, the library warns of its end also where only the last marker is missing; where
 * pixels are missing, JWRN_HIT_MARKER follows. In a file of several scans a whole scan may be missing. */
static bool means_missing(const struct reader *reader, int code)
{
	return code == JWRN_HIT_MARKER || (code == JWRN_JPEG_EOF && reader->head_read &&
					   jpeg_has_multiple_scans((j_decompress_ptr)&reader->jpeg));
}

static void on_message(j_common_ptr jpeg, int level)
{
	struct reader *reader = reader_of(jpeg);

	if (level >= 0)
		return;
	reader->warned = true;
	if (reader->missing || !means_missing(reader, jpeg->err->msg_code))
		return;
	reader->missing = jpeg->err->msg_code;
	reader->missing_at = taken(reader);
	jpeg->err->format_message(jpeg, reader->missing_text);
}

static void on_progress(j_common_ptr jpeg)
{
	struct reader *reader = reader_of(jpeg);

	if (reader->jpeg.input_scan_number <= (int)PICTURE_SCANS_MAX)
		return;
	(void)snprintf(reader->text, sizeof(reader->text), "more than %u scans", PICTURE_SCANS_MAX);
	longjmp(reader->place, 1);
}

static void on_output(j_common_ptr jpeg)
{
	(void)jpeg;
}

static int fail(struct reader *reader, struct error *err)
{
	const uint64_t at = taken(reader);

	jpeg_abort_decompress(&reader->jpeg);
	return error_set(err, -EBADMSG, "JPEG of %" PRIu64 " bytes, at byte %" PRIu64 ": %s", reader->bytes,
			 at, reader->text);
}

/* ---- The reader ---- */

static void close_jpeg(void *opened)
{
	struct reader *reader = opened;

	if (reader)
		jpeg_destroy_decompress(&reader->jpeg);
	free(reader);
}

static int open_jpeg(void **ret_reader, struct error *err)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return error_set(err, -ENOMEM, "no memory for a JPEG decoder");
	reader->jpeg.err = jpeg_std_error(&reader->errors);
	reader->errors.error_exit = on_error;
	reader->errors.emit_message = on_message;
	reader->errors.output_message = on_output;
	reader->progress.progress_monitor = on_progress;
	reader->jpeg.client_data = reader;
	*ret_reader = reader;
	return 0;
}

/* The library keeps the Huffman and quantization tables of a file, and uses them for a next file that lacks
 * its own. So each file gets a library that has seen no other. */
static void renew(struct reader *reader)
{
	jpeg_destroy_decompress(&reader->jpeg);
	jpeg_create_decompress(&reader->jpeg);
	reader->jpeg.progress = &reader->progress;
}

static uint32_t orientation_of(const struct jpeg_decompress_struct *jpeg)
{
	for (const struct jpeg_marker_struct *marker = jpeg->marker_list; marker; marker = marker->next)
		if (marker->marker == EXIF_MARKER && marker->data_length > EXIF_HEADER_BYTES &&
		    memcmp(marker->data, EXIF_BEGIN, EXIF_HEADER_BYTES) == 0)
			return picture_exif_orientation(marker->data + EXIF_HEADER_BYTES,
							marker->data_length - EXIF_HEADER_BYTES);
	return 1;
}

static int begin_jpeg(void *opened, const void *file, uint64_t bytes, struct picture_head *ret_head,
		      struct error *err)
{
	struct reader *reader = opened;
	struct jpeg_decompress_struct *jpeg = &reader->jpeg;

	reader->bytes = bytes;
	reader->head_read = reader->warned = false;
	reader->missing = 0;
	if (setjmp(reader->place))
		return fail(reader, err);
	renew(reader);
	jpeg_mem_src(jpeg, file, bytes);
	jpeg_save_markers(jpeg, EXIF_MARKER, EXIF_BYTES);
	(void)jpeg_read_header(jpeg, TRUE);
	reader->head_read = true;
	*ret_head = (struct picture_head){ .format = PICTURE_JPEG,
					   .height = jpeg->image_height,
					   .width = jpeg->image_width,
					   .channels = (uint32_t)jpeg->num_components,
					   .orientation = orientation_of(jpeg) };
	return 0;
}

/* Of several scans, the library keeps the coefficients of all blocks. */
static uint64_t whole_jpeg(const void *opened)
{
	const struct reader *reader = opened;
	uint64_t blocks = 0;

	if (!jpeg_has_multiple_scans((j_decompress_ptr)&reader->jpeg))
		return 0;
	for (int i = 0; i < reader->jpeg.num_components; i++)
		blocks += (uint64_t)reader->jpeg.comp_info[i].width_in_blocks *
			  reader->jpeg.comp_info[i].height_in_blocks;
	return blocks * sizeof(JBLOCK);
}

static bool is_cmyk(const struct jpeg_decompress_struct *jpeg)
{
	return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

static int start_jpeg(void *opened, bool gray, uint32_t eighths, struct picture_lines *ret_lines,
		      struct error *err)
{
	struct reader *reader = opened;
	struct jpeg_decompress_struct *jpeg = &reader->jpeg;

	if (setjmp(reader->place))
		return fail(reader, err);
	jpeg->out_color_space = is_cmyk(jpeg) ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_EXT_RGBX;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_fancy_upsampling = TRUE;
	jpeg->scale_num = eighths;
	jpeg->scale_denom = 8;
	(void)jpeg_start_decompress(jpeg);
	*ret_lines =
		(struct picture_lines){ .width = jpeg->output_width,
					.height = jpeg->output_height,
					.pixel = jpeg->output_components == 1 ? PICTURE_GRAY : PICTURE_RGBX };
	return 0;
}

/* Programs write CMYK inverted, as Adobe's do: 255 is no ink. */
static void rgbx_of_cmyk(uint8_t *line, uint64_t width)
{
	for (uint8_t *pixel = line; pixel < line + 4 * width; pixel += 4)
		for (unsigned i = 0; i < 3; i++)
			pixel[i] = (uint8_t)(pixel[i] * pixel[3] / UINT8_MAX);
}

static int lines_jpeg(void *opened, uint8_t *const line[static PICTURE_LINES_MAX], struct error *err)
{
	struct reader *reader = opened;
	uint32_t count;

	if (setjmp(reader->place))
		return fail(reader, err);
	count = jpeg_read_scanlines(&reader->jpeg, (JSAMPARRAY)line, PICTURE_LINES_MAX);
	if (reader->missing) {
		(void)error_set(err, -EBADMSG, "JPEG of %" PRIu64 " bytes, at byte %" PRIu64 ": %s",
				reader->bytes, reader->missing_at, reader->missing_text);
		jpeg_abort_decompress(&reader->jpeg);
		return -EBADMSG;
	}
	for (uint32_t i = 0; reader->jpeg.out_color_space == JCS_CMYK && i < count; i++)
		rgbx_of_cmyk(line[i], reader->jpeg.output_width);
	return (int)count;
}

static int end_jpeg(void *opened, bool *ret_warned, struct error *err)
{
	struct reader *reader = opened;

	if (setjmp(reader->place))
		return fail(reader, err);
	(void)jpeg_finish_decompress(&reader->jpeg);
	*ret_warned = reader->warned;
	return 0;
}

const struct picture_reader picture_jpeg = {
	.open = open_jpeg,
	.close = close_jpeg,
	.begin = begin_jpeg,
	.whole = whole_jpeg,
	.start = start_jpeg,
	.lines = lines_jpeg,
	.end = end_jpeg,
};
