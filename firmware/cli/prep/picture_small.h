/* SPDX-License-Identifier: Apache-2.0 */
/* Makes pictures of another size, with the bilinear filter and antialias, and turned as their orientation
 * says. */
#pragma once

#include "cli/prep/pictures.h"
#include "data/picture.h"

#define PICTURE_SMALL_QUALITY 95 /* quality of the new JPEG files */

/* Computes the size of a picture whose shorter side has `side` pixels. A picture that is not larger keeps its
 * size: returns false. */
bool picture_small_size(const struct picture_item *item, uint64_t side, uint32_t *ret_height,
			uint32_t *ret_width);

/* Makes a JPEG file of height x width pixels, gray where the file is gray. The caller frees *ret_data.
 * Errors: those of picture_decode(); -ENOMEM. */
MUST_CHECK int picture_small_jpeg(struct picture_decoder *decoder, const struct picture_item *item,
				  const void *file, uint32_t height, uint32_t width, uint8_t **ret_data,
				  uint64_t *ret_bytes, struct error *err);

/* How `kiln prep --raw` makes side x side pixels of PICTURES_CHANNELS bytes. `fit`: a word of the schema's
 * `fit`. */
struct picture_form picture_small_raw_form(uint32_t side, const char *fit);
/* Makes these pixels. */
MUST_CHECK int picture_small_raw(struct picture_decoder *decoder, const struct picture_item *item,
				 const void *file, uint32_t side, const char *fit, uint8_t *ret_pixels,
				 struct error *err);
