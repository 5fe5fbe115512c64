/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads IDX files, the format of MNIST, compressed with gzip or not. One file has the images: unsigned bytes
 * in 3 dimensions (images, rows, columns) or 4 (and channels, the last dimension). A second file in the same
 * folder has the labels, in 1 dimension. The name of the labels file is the name of the images file with
 * "labels" in the place of "images" and "idx1" in the place of "idx3" or "idx4". Source:
 * http://yann.lecun.com/exdb/mnist, "File formats for this database".
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct idx_images {
	uint32_t images, height, width, channels;
	uint8_t *pixel; /* images x height x width x channels */
	uint8_t *label;
	uint32_t labels; /* largest label + 1 */
};

/* Returns true where the file begins like an IDX file; false also where the file cannot be read. */
bool idx_is(const char *path);

/* Derives the name of the labels file from the name of the images file. Returns false where the name does not
 * contain "images", or neither "idx3" nor "idx4". */
bool idx_labels_name(const char *images, char *ret_labels, size_t size);

/* Appends the rows of the images file and of its labels file. Error texts show `name` instead of the path.
 * Errors: -EBADMSG with the file, what was found and what was expected, also where the size of the images
 * differs from images read before; -ENOMEM; -ENOENT and other errnos of reading. */
MUST_CHECK int idx_read(struct idx_images *images, const char *path, const char *name,
			const char *labels_path, const char *labels_name, struct error *err);
void idx_done(struct idx_images *images);
