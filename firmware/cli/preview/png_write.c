/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preview/png_write.h"

#include <spng.h>
#include <string.h>

static void close_png(spng_ctx **png)
{
	spng_ctx_free(*png);
}

int png_write(const char *path, const uint8_t *pixels, uint32_t height, uint32_t width, uint32_t channels,
	      struct error *err)
{
	CLEANUP(close_png) spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	CLEANUP(close_file) FILE *file = fopen(path, "w");
	struct spng_ihdr header = { .width = width,
				    .height = height,
				    .bit_depth = 8,
				    .color_type = channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE
								: SPNG_COLOR_TYPE_TRUECOLOR };
	int code;

	if (!file)
		return error_set(err, -errno, "%s: cannot write it: %s", path, strerror(errno));
	if (!png)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	if ((code = spng_set_png_file(png, file)) != 0 || (code = spng_set_ihdr(png, &header)) != 0 ||
	    (code = spng_encode_image(png, pixels, (size_t)height * width * channels, SPNG_FMT_PNG,
				      SPNG_ENCODE_FINALIZE)) != 0)
		return error_set(err, -EIO, "%s: cannot write it: %s", path, spng_strerror(code));
	return fclose(TAKE(file)) == 0 ? 0 : error_set(err, -errno, "%s: %s", path, strerror(errno));
}
