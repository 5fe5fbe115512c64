/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/prep/picture_small.h"

#include <setjmp.h>
#include <string.h>

#include <jpeglib.h>

#define PIXELS_MAX (1u << 30)

/* ---- Sizes ---- */

static struct picture_form form_of(uint32_t height, uint32_t width, uint32_t channels, int fit)
{
	return (struct picture_form){ .height = height,
				      .width = width,
				      .channels = channels,
				      .interpolation = INTERPOLATE_BILINEAR,
				      .antialias = true,
				      .fit = fit,
				      .orientation = true,
				      .pixels_max = PIXELS_MAX };
}

static uint32_t scaled(uint64_t size, uint64_t side, uint64_t shorter)
{
	return (uint32_t)((size * side + shorter / 2) / shorter);
}

bool picture_small_size(const struct picture_item *item, uint64_t side, uint32_t *ret_height,
			uint32_t *ret_width)
{
	const uint32_t height = item->turned ? item->width : item->height,
		       width = item->turned ? item->height : item->width;
	const uint32_t shorter = height < width ? height : width;

	if (side == 0 || shorter <= side)
		return false;
	*ret_height = scaled(height, side, shorter);
	*ret_width = scaled(width, side, shorter);
	return true;
}

/* ---- JPEG ---- */

struct writer {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	jmp_buf place;
	char text[JMSG_LENGTH_MAX];
	unsigned char *data;
	unsigned long bytes;
};

static void on_error(j_common_ptr jpeg)
{
	struct writer *writer = jpeg->client_data;

	jpeg->err->format_message(jpeg, writer->text);
	longjmp(writer->place, 1);
}

/* Writes all lines. Errors of the library arrive by longjmp(), so this function keeps no value of its own
 * across a call of the library. */
static int compress(struct writer *writer, const uint8_t *pixels, uint32_t height, uint32_t width,
		    uint32_t channels)
{
	struct jpeg_compress_struct *jpeg = &writer->jpeg;

	if (setjmp(writer->place))
		return -EIO;
	jpeg_create_compress(jpeg);
	jpeg_mem_dest(jpeg, &writer->data, &writer->bytes);
	jpeg->image_width = width;
	jpeg->image_height = height;
	jpeg->input_components = (int)channels;
	jpeg->in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(jpeg);
	jpeg_set_quality(jpeg, PICTURE_SMALL_QUALITY, TRUE);
	jpeg->optimize_coding = TRUE;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg_start_compress(jpeg, TRUE);
	while (jpeg->next_scanline < height) {
		JSAMPROW line =
			(JSAMPROW)(uintptr_t)(pixels + (uint64_t)jpeg->next_scanline * width * channels);

		(void)jpeg_write_scanlines(jpeg, &line, 1);
	}
	jpeg_finish_compress(jpeg);
	return 0;
}

static int write_jpeg(const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
		      uint8_t **ret_data, uint64_t *ret_bytes, struct error *err)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return error_set(err, -ENOMEM, "no memory for a JPEG file");
	writer->jpeg.err = jpeg_std_error(&writer->errors);
	writer->errors.error_exit = on_error;
	writer->jpeg.client_data = writer;
	r = compress(writer, pixels, height, width, channels);
	if (r == 0) {
		*ret_data = TAKE(writer->data);
		*ret_bytes = writer->bytes;
	} else {
		(void)error_set(err, r, "cannot write a JPEG file of %u x %u pixels: %s", width, height,
				writer->text);
	}
	jpeg_destroy_compress(&writer->jpeg);
	free(writer->data);
	free(writer);
	return r;
}

int picture_small_jpeg(struct picture_decoder *decoder, const struct picture_item *item, const void *file,
		       uint32_t height, uint32_t width, uint8_t **ret_data, uint64_t *ret_bytes,
		       struct error *err)
{
	const uint32_t channels = item->channels == 1 ? 1 : PICTURES_CHANNELS;
	const struct picture_form form = form_of(height, width, channels, FIT_STRETCH);
	CLEANUP(free_ptr) uint8_t *pixels = malloc((uint64_t)height * width * channels);
	int r;

	if (!pixels)
		return error_set(err, -ENOMEM, "no memory for %u x %u pixels", width, height);
	r = picture_decode(decoder, &form, (struct picture_place){ 0 }, file, item->bytes, pixels, err);
	return r < 0 ? r : write_jpeg(pixels, height, width, channels, ret_data, ret_bytes, err);
}

/* ---- Pixels ---- */

struct picture_form picture_small_raw_form(uint32_t side, const char *fit)
{
	return form_of(side, side, PICTURES_CHANNELS,
		       strcmp(fit, "crop") == 0  ? FIT_CROP
		       : strcmp(fit, "pad") == 0 ? FIT_PAD
						 : FIT_STRETCH);
}

int picture_small_raw(struct picture_decoder *decoder, const struct picture_item *item, const void *file,
		      uint32_t side, const char *fit, uint8_t *ret_pixels, struct error *err)
{
	const struct picture_form form = picture_small_raw_form(side, fit);

	return picture_decode(decoder, &form, (struct picture_place){ 0 }, file, item->bytes, ret_pixels,
			      err);
}
