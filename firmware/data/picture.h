/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a JPEG or PNG file into uint8 values [height, width, channels], as a feature of dtype "picture"
 * asks for. The content tells the format, never a name. Pure: the same bytes and the same form give the same
 * values on every processor.
 *
 * JPEG (libjpeg-turbo): baseline, progressive, gray, CMYK and YCCK; the accurate DCT and smooth upsampling,
 * which are bit for bit those of djpeg, Pillow, torchvision and TensorFlow's INTEGER_ACCURATE. PNG (libspng):
 * 1 to 16 bits, palette, interlaced; transparency is dropped. Colour becomes gray, and gray becomes colour,
 * as `channels` asks, by the weights of JPEG (0.299, 0.587, 0.114).
 *
 * Filters: those of tf.image.resize (v2) and, for bilinear and bicubic with antialias, of Pillow, within 1 of
 * 255. The centres of pixels lie at half numbers. Bicubic values beyond 0 and 255 are cut off at the end;
 * Pillow cuts them off between the two directions, too, unless its pixels are float32: at hard edges of a
 * noisy picture its uint8 pixels are up to 23 of 255 away.
 *
 * Order: picture_decoder_new(), then picture_decode() for any number of files, then picture_decoder_free(). A
 * decoder belongs to one thread. Cost: the lines of a file are filtered as they leave the library, so no
 * whole picture lies in memory, except for an interlaced PNG and a JPEG of several scans. The decoder
 * keeps its buffers: it allocates nothing for a picture that is not larger than an earlier picture. The
 * libraries allocate for themselves.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* Most scans of a progressive JPEG: each one costs a pass over all coefficients. */
#define PICTURE_SCANS_MAX 100u
/* Most pixels in one direction; a line takes memory. */
#define PICTURE_SIDE_MAX 65535u
/* A file that lies in memory as a whole (interlaced PNG, JPEG of several scans) and takes more than this
 * waits until the process decodes no other such file: 64 million pixels take 512 MB, and each core has a
 * decoder. */
#define PICTURE_WHOLE_BYTES (UINT64_C(64) << 20)

enum picture_format { PICTURE_UNKNOWN, PICTURE_JPEG, PICTURE_PNG };

/* What a picture becomes; the fields are those of struct config_feature. */
struct picture_form {
	uint32_t height, width, channels; /* channels: 1 or 3 */
	int interpolation;                /* enum config_interpolation */
	bool antialias;
	int fit; /* enum config_fit */
	bool orientation, scaled_decode;
	uint64_t pixels_max;
};
struct picture_form picture_form_of(const struct config_feature *feature);

/* With FIT_CROP, where the part that stays lies within the picture: two random words, or the centre. */
struct picture_place {
	bool random;
	uint32_t down, right;
};

struct picture_decoder;
MUST_CHECK int picture_decoder_new(struct picture_decoder **ret_decoder, struct error *err);
void picture_decoder_free(struct picture_decoder *decoder); /* accepts NULL */
void picture_decoder_freep(struct picture_decoder **decoder);

/* Writes height * width * channels bytes. What the file damages or cuts off is never made up: pixels that
 * never came are an error.
 * Errors: -EBADMSG the file is no picture, another format (named), damaged, cut short, or exceeds pixels_max,
 * PICTURE_SIDE_MAX or PICTURE_SCANS_MAX; the text has the library's message and the place in the file.
 * -ENOMEM. The values are undefined then. */
MUST_CHECK int picture_decode(struct picture_decoder *decoder, const struct picture_form *form,
			      struct picture_place place, const void *file, uint64_t bytes,
			      uint8_t *ret_values, struct error *err);

/* Returns how many pictures were decoded with a warning of the library so far. */
uint64_t picture_warnings(const struct picture_decoder *decoder);

/* What the head of a file says. Height and width are those of the file, before it is turned. */
struct picture_head {
	enum picture_format format;
	uint32_t height, width, channels;
	uint32_t orientation; /* of EXIF, 1 .. 8; 1 = upright, or not given */
};
/* Reads the head alone. Errors: -EBADMSG as for picture_decode(). */
MUST_CHECK int picture_head(const void *file, uint64_t bytes, struct picture_head *ret_head,
			    struct error *err);
