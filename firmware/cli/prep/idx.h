/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX files, gzip or not, as MNIST and its like are shipped: images of unsigned bytes in 3 dimensions
 * (images, rows, columns) or 4 (channels last), their labels in 1. The two lie in one folder, and the labels'
 * name is the images' with "images" and "idx3" or "idx4" turned into "labels" and "idx1". Source:
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
	uint32_t labels; /* 1 + the largest label */
};

/* Whether the file begins as an IDX file does. False also when it cannot be read. */
bool idx_is(const char *path);

/* Of the file of images. False: its name does not tell. */
bool idx_labels_name(const char *images, char *ret_labels, size_t size);

/* Append both files' rows. The names stand for the paths in errors.
 * Errors: -EBADMSG naming the file, what was found and expected, also where images have another size than
 * those before; -ENOMEM; -ENOENT and other errnos of reading. */
MUST_CHECK int idx_read(struct idx_images *images, const char *path, const char *name,
			const char *labels_path, const char *labels_name, struct error *err);
void idx_done(struct idx_images *images);
