/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a picture file: decode_picture FILE [CONFIG] >PPM
 * Without CONFIG as it is: gray becomes colour; the orientation is left as it is. With CONFIG as the first
 * feature of its schema asks for; the part that fit = "crop" keeps is the centre. Gray pixels are written as
 * PGM. Exit status 1: the file is refused, with the reason.
 */
#include "core/base/cleanup.h"
#include "core/base/paths.h"
#include "data/picture.h"

#include <stdlib.h>

#define FILE_MAX   (UINT64_C(1) << 28)
#define PIXELS_MAX UINT64_C(64000000)

static int form_as_it_is(const char *file, uint64_t bytes, struct picture_form *ret_form, struct error *err)
{
	struct picture_head head;
	int r;

	if ((r = picture_head(file, bytes, &head, err)) < 0)
		return r;
	if ((uint64_t)head.width * head.height > PIXELS_MAX)
		return error_set(err, -EBADMSG, "%u x %u pixels", head.width, head.height);
	*ret_form = (struct picture_form){ .width = head.width,
					   .height = head.height,
					   .channels = 3,
					   .interpolation = INTERPOLATE_NEAREST,
					   .pixels_max = PIXELS_MAX };
	return 0;
}

static int form_of_config(const char *path, struct picture_form *ret_form, struct error *err)
{
	struct config config = { 0 };
	int r = config_load(path, &config, err);

	if (r == 0)
		*ret_form = picture_form_of(&config.feature[0]);
	config_done(&config);
	return r;
}

static int decode(const char *path, const char *config, struct error *err)
{
	CLEANUP(picture_decoder_freep) struct picture_decoder *decoder = NULL;
	CLEANUP(free_ptr) char *file = NULL;
	CLEANUP(free_ptr) uint8_t *pixels = NULL;
	struct picture_form form;
	uint64_t bytes;
	int r;

	if ((r = file_read(path, FILE_MAX, &file, &bytes, err)) < 0 ||
	    (r = config ? form_of_config(config, &form, err) : form_as_it_is(file, bytes, &form, err)) < 0)
		return r;
	pixels = malloc((uint64_t)form.width * form.height * form.channels + 1);
	if (!pixels)
		return error_set(err, -ENOMEM, "no memory");
	if ((r = picture_decoder_new(&decoder, err)) < 0 ||
	    (r = picture_decode(decoder, &form, (struct picture_place){ 0 }, file, bytes, pixels, err)) < 0)
		return r;
	printf("P%c\n%u %u\n255\n", form.channels == 1 ? '5' : '6', form.width, form.height);
	if (picture_warnings(decoder) > 0)
		fprintf(stderr, "with a warning\n");
	return fwrite(pixels, form.channels, (size_t)form.width * form.height, stdout) ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc < 2 || argc > 3 || decode(argv[1], argc == 3 ? argv[2] : NULL, &err) < 0) {
		fprintf(stderr, "%s\n", *err.text ? err.text : "usage: decode_picture FILE [CONFIG]");
		return 1;
	}
	return 0;
}
