/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of a .keras file, which are an HDF5 file, read by libhdf5. Only what Keras writes is read:
 * groups, and datasets of floats that lie in the file in one piece, reached by hard links. Soft and external
 * links, data in other files, chunks and filters are refused: so no other file is opened, no plug-in is
 * loaded, and no dataset is larger than the file.
 *
 * Why a program of its own (kiln-import): libhdf5 brings libraries of 5 MB, which neither daemons nor the
 * start of `kiln` should load; and a file from anywhere that finds a mistake in it ends this program alone.
 *
 * Order: hdf5_open -> hdf5_weight* -> hdf5_close. Threads: one.
 */
#pragma once

#include "import/network/weights.h"

struct hdf5;

/* Opens a file. `what`: its name in errors. Errors: -EBADMSG it is no HDF5 file. */
MUST_CHECK int hdf5_open(const char *path, const char *what, struct hdf5 **ret_file, struct error *err);
void hdf5_close(struct hdf5 *file);
void hdf5_closep(struct hdf5 **file); /* for CLEANUP() */

/* Reads a weight (network_weight); `context` is the struct hdf5. */
MUST_CHECK int hdf5_weight(void *context, const struct network_layer *layer, const char *parameter,
			   uint32_t index, const struct tensor *like, float *numbers, struct error *err);
