/* SPDX-License-Identifier: Apache-2.0 */
/* Makes small JPEG and PNG files for tests, in memory. The caller frees the bytes. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <spng.h>

struct file {
	uint8_t *data;
	unsigned long bytes;
};

/* What is special in a JPEG. */
struct jpeg_kind {
	J_COLOR_SPACE space;   /* of `pixels`: JCS_GRAYSCALE, JCS_RGB or JCS_CMYK */
	J_COLOR_SPACE written; /* JCS_UNKNOWN: the library's choice */
	int quality;
	bool progressive, small_chroma;
	unsigned restart_rows;
	const void *exif; /* with "Exif\0\0" */
	unsigned exif_bytes;
};

static inline struct file make_jpeg(const uint8_t *pixels, unsigned width, unsigned height,
				    const struct jpeg_kind *kind)
{
	struct jpeg_compress_struct jpeg = { 0 };
	struct jpeg_error_mgr errors;
	struct file file = { 0 };
	int channels = kind->space == JCS_GRAYSCALE ? 1 : kind->space == JCS_CMYK ? 4 : 3;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &file.data, &file.bytes);
	jpeg.image_width = width;
	jpeg.image_height = height;
	jpeg.input_components = channels;
	jpeg.in_color_space = kind->space;
	jpeg_set_defaults(&jpeg);
	if (kind->written != JCS_UNKNOWN)
		jpeg_set_colorspace(&jpeg, kind->written);
	jpeg_set_quality(&jpeg, kind->quality, TRUE);
	for (int i = 0; i < jpeg.num_components && !kind->small_chroma; i++)
		jpeg.comp_info[i].h_samp_factor = jpeg.comp_info[i].v_samp_factor = 1;
	jpeg.restart_in_rows = (int)kind->restart_rows;
	if (kind->progressive)
		jpeg_simple_progression(&jpeg);
	jpeg_start_compress(&jpeg, TRUE);
	if (kind->exif)
		jpeg_write_marker(&jpeg, JPEG_APP0 + 1, kind->exif, kind->exif_bytes);
	while (jpeg.next_scanline < height) {
		JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels +
						     (size_t)jpeg.next_scanline * width * (unsigned)channels);

		(void)jpeg_write_scanlines(&jpeg, &row, 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	return file;
}

/* `pixels` are as PNG stores them, lines of packed samples; 16 bits in this processor's order. */
static inline struct file make_png(const void *pixels, size_t bytes, const struct spng_ihdr *header,
				   const struct spng_plte *palette, const struct spng_exif *exif)
{
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	struct spng_ihdr copy = *header;
	struct spng_plte colours;
	struct spng_exif turned;
	struct file file;
	size_t size = 0;
	int code = 0;

	(void)spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1);
	code |= spng_set_ihdr(png, &copy);
	if (palette) {
		colours = *palette;
		code |= spng_set_plte(png, &colours);
	}
	if (exif) {
		turned = *exif;
		code |= spng_set_exif(png, &turned);
	}
	code |= spng_encode_image(png, pixels, bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
	file.data = spng_get_png_buffer(png, &size, &code);
	file.bytes = size;
	assert(code == 0 && file.data);
	spng_ctx_free(png);
	return file;
}

/* A TIFF structure of EXIF with this orientation, and "Exif\0\0" in front; EXIF_BYTES. */
#define MADE_EXIF_BYTES 32u
static inline void make_exif(uint8_t out[static MADE_EXIF_BYTES], bool big, uint8_t orientation)
{
	static const uint8_t little[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3,
					  0,   1,   0,  0, 0, 0, 0, 0, 0, 0, 0,    0,    0 },
			     swapped[] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
					   3,   0,   0, 0,  1, 0, 0, 0, 0, 0, 0,    0,    0 };

	memcpy(out, "Exif\0\0", 6);
	memcpy(out + 6, big ? swapped : little, sizeof(little));
	out[6 + (big ? 19 : 18)] = orientation;
}
