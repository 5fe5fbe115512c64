/* SPDX-License-Identifier: Apache-2.0 */
#include "data/picture_source.h"

#include <stddef.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FORM_BYTES 4u
#define PIXELS_MAX 65536u

/* Input is a form and a file. The file is decoded by a decoder that has decoded the files before, and its
 * head is read; bytes that are not JPEG or PNG are also read as EXIF. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct picture_decoder *decoder;
	static uint8_t out[64 * 64 * 3];
	struct picture_head head;
	struct picture_form form;
	struct error err;

	if (size < FORM_BYTES || (!decoder && picture_decoder_new(&decoder, &err) < 0))
		return 0;
	form = (struct picture_form){ .height = 1u + data[0] % 64,
				      .width = 1u + data[1] % 64,
				      .channels = data[2] & 1 ? 1 : 3,
				      .antialias = data[2] >> 1 & 1,
				      .orientation = data[2] >> 2 & 1,
				      .scaled_decode = data[2] >> 3 & 1,
				      .interpolation = data[2] >> 4 & 3,
				      .fit = (data[2] >> 6) % 3,
				      .pixels_max = PIXELS_MAX };
	data += FORM_BYTES;
	size -= FORM_BYTES;
	(void)!picture_decode(decoder, &form,
			      (struct picture_place){ data[-1] & 1, data[-1] * 0x1010101u, 7 }, data, size,
			      out, &err);
	(void)!picture_head(data, size, &head, &err);
	(void)picture_exif_orientation(data, size);
	return 0;
}
