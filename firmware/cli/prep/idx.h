/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX files, gzip or not, the format of MNIST: images of unsigned bytes in 3 dimensions (images, rows,
 * columns) or 4 (channels last), and labels in 1 dimension in a second file. Both files lie in one folder;
 * the name of the labels is that of the images with "labels" for "images" and "idx1" for "idx3" or "idx4".
 * Source: http://yann.lecun.com/exdb/mnist, "File formats for this database".
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct idx_images {
	uint32_t images, height, width, channels;
	uint8_t *pixel; /* images x height x width x channels */
	uint8_t *label;
	uint32_t labels; /* 1 + the largest label */
};

/* True where the file begins like an IDX file. False also where it cannot be read. */
bool idx_is(const char *path);

/* Derives the name of the file of labels. Returns false where the name of the images does not follow the
 * rule. */
bool idx_labels_name(const char *images, char *ret_labels, size_t size);

/* Appends the rows of both files. Errors show the names, not the paths.
 * Errors: -EBADMSG names the file, what was found and expected, also where the images have another size than
 * earlier ones; -ENOMEM; -ENOENT and other errnos of reading. */
MUST_CHECK int idx_read(struct idx_images *images, const char *path, const char *name,
			const char *labels_path, const char *labels_name, struct error *err);
void idx_done(struct idx_images *images);
