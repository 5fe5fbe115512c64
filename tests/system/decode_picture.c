/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a picture file as it is: decode_picture FILE >PPM. Gray becomes colour; the orientation is left as
 * it is. Exit status 1: the file is refused, with the reason.
 */
#include "core/base/cleanup.h"
#include "core/base/paths.h"
#include "data/picture.h"

#include <stdlib.h>

#define FILE_MAX (UINT64_C(1) << 28)

static int decode(const char *path, struct error *err)
{
	CLEANUP(picture_decoder_freep) struct picture_decoder *decoder = NULL;
	CLEANUP(free_ptr) char *file = NULL;
	CLEANUP(free_ptr) uint8_t *pixels = NULL;
	struct picture_form form = { .channels = 3,
				     .interpolation = INTERPOLATE_NEAREST,
				     .pixels_max = 64000000 };
	struct picture_head head;
	uint64_t bytes;
	int r;

	if ((r = file_read(path, FILE_MAX, &file, &bytes, err)) < 0 ||
	    (r = picture_head(file, bytes, &head, err)) < 0)
		return r;
	if ((uint64_t)head.width * head.height > form.pixels_max)
		return error_set(err, -EBADMSG, "%u x %u pixels", head.width, head.height);
	form.width = head.width;
	form.height = head.height;
	pixels = malloc((uint64_t)form.width * form.height * 3 + 1);
	if (!pixels)
		return error_set(err, -ENOMEM, "no memory");
	if ((r = picture_decoder_new(&decoder, err)) < 0 ||
	    (r = picture_decode(decoder, &form, (struct picture_place){ 0 }, file, bytes, pixels, err)) < 0)
		return r;
	printf("P6\n%u %u\n255\n", form.width, form.height);
	if (picture_warnings(decoder) > 0)
		fprintf(stderr, "with a warning\n");
	return fwrite(pixels, 3, (size_t)form.width * form.height, stdout) ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc != 2 || decode(argv[1], &err) < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? err.text : "usage: decode_picture FILE");
		return 1;
	}
	return 0;
}
