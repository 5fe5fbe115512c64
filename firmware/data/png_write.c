/* SPDX-License-Identifier: Apache-2.0 */
#include "data/png_write.h"

#include <spng.h>

static void close_png(spng_ctx **png)
{
	spng_ctx_free(*png);
}

int png_make(const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels, void **ret_file,
	     uint64_t *ret_bytes, struct error *err)
{
	CLEANUP(close_png) spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	struct spng_ihdr header = { .width = width,
				    .height = height,
				    .bit_depth = 8,
				    .color_type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE
								: SPNG_COLOR_TYPE_TRUECOLOR };
	size_t bytes = 0;
	void *file;
	int code;

	if (!png)
		return error_set(err, -ENOMEM, "no memory for a PNG file");
	if ((code = spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1)) != 0 ||
	    (code = spng_set_ihdr(png, &header)) != 0 ||
	    (code = spng_encode_image(png, pixels, (size_t)height * width * channels, SPNG_FMT_PNG,
				      SPNG_ENCODE_FINALIZE)) != 0)
		return error_set(err, -EIO, "cannot make a PNG file: %s", spng_strerror(code));
	file = spng_get_png_buffer(png, &bytes, &code);
	if (!file)
		return error_set(err, -EIO, "cannot make a PNG file: %s", spng_strerror(code));
	*ret_file = file;
	*ret_bytes = bytes;
	return 0;
}
